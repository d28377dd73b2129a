"""Markov random fields: built from whatever people bring, and inference on them. Usable alone."""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "MarkovRandomField": ".field",
    "Factor": ".build.factors",
    "factors_of": ".factors",
    "Ball": ".balls",
    "ball": ".balls",
    "criticality": ".criticality",
    "BeliefState": ".inference.beliefs",
    "Origin": ".inference.beliefs",
    "belief_propagation": ".inference.propagation",
    "Schedule": ".inference.propagation",
    "exact_marginals": ".inference.exact",
    "treewidth_bound": ".inference.elimination",
    "infer": ".inference.registry",
    "inference_algorithms": ".inference.registry",
    "register_inference": ".inference.registry",
    "chain_field": ".generators",
    "grid_field": ".generators",
    "random_field": ".generators",
    "scale_free_field": ".generators",
    "star_field": ".generators",
    "tree_field": ".generators",
    "REMOVED": ".what_if",
    "WhatIf": ".what_if",
    "what_if": ".what_if",
    "what_ifs": ".what_if",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .balls import Ball as Ball
    from .balls import ball as ball
    from .build.factors import Factor as Factor
    from .criticality import criticality as criticality
    from .factors import factors_of as factors_of
    from .field import MarkovRandomField as MarkovRandomField
    from .generators import chain_field as chain_field
    from .generators import grid_field as grid_field
    from .generators import random_field as random_field
    from .generators import scale_free_field as scale_free_field
    from .generators import star_field as star_field
    from .generators import tree_field as tree_field
    from .inference.beliefs import BeliefState as BeliefState
    from .inference.beliefs import Origin as Origin
    from .inference.elimination import treewidth_bound as treewidth_bound
    from .inference.exact import exact_marginals as exact_marginals
    from .inference.propagation import Schedule as Schedule
    from .inference.propagation import belief_propagation as belief_propagation
    from .inference.registry import infer as infer
    from .inference.registry import inference_algorithms as inference_algorithms
    from .inference.registry import register_inference as register_inference
    from .what_if import REMOVED as REMOVED
    from .what_if import WhatIf as WhatIf
    from .what_if import what_if as what_if
    from .what_if import what_ifs as what_ifs
