"""Who are the key players behind a decision?

A Markov random field believes something of a variable: `GraphShapley` says which other variables made it
so. A classifier predicts something of an instance: `McXai` says which features carry it and which oppose
it. Public names are attached lazily, so that importing the package stays quick.
"""

from typing import TYPE_CHECKING

from ._base.lazy import attach
from ._version import __version__ as __version__

_HOMES = {
    "KeyPlayersError": ".errors",
    "InputError": ".errors",
    "FileFormatError": ".errors",
    "ContradictionError": ".errors",
    "UnknownNameError": ".errors",
    "TooLargeError": ".errors",
    "MissingPackageError": ".errors",
    "ModelError": ".errors",
    "PredictorError": ".errors",
    "PredictionError": ".errors",
    "StoreLockedError": ".errors",
    "KeyPlayersWarning": ".errors",
    "ConvergenceWarning": ".errors",
    "PrecisionWarning": ".errors",
    "MarkovRandomField": ".mrf.field",
    "Factor": ".mrf.build.factors",
    "factors_of": ".mrf.factors",
    "Ball": ".mrf.balls",
    "ball": ".mrf.balls",
    "Explainer": ".explanation",
    "criticality": ".mrf.criticality",
    "Explanation": ".explanation",
    "show_progress": "._base.progress",
    "GraphShapley": ".graphshapley.explainer",
    "load": ".archive",
    "Failure": ".batch.run",
    "explain_many": ".batch.run",
    "Store": ".batch.store.reader",
    "compare": ".report.compare",
    "open_store": ".batch.store.reader",
    "BeliefState": ".mrf.inference.beliefs",
    "belief_propagation": ".mrf.inference.propagation",
    "read_mrf": ".readers",
    "write_mrf": ".readers",
    "exact_marginals": ".mrf.inference.exact",
    "infer": ".mrf.inference.registry",
    "inference_algorithms": ".mrf.inference.registry",
    "register_inference": ".mrf.inference.registry",
    "treewidth_bound": ".mrf.inference.elimination",
    "chain_field": ".mrf.generators",
    "grid_field": ".mrf.generators",
    "random_field": ".mrf.generators",
    "scale_free_field": ".mrf.generators",
    "star_field": ".mrf.generators",
    "tree_field": ".mrf.generators",
    "REMOVED": ".mrf.what_if",
    "WhatIf": ".mrf.what_if",
    "what_if": ".mrf.what_if",
    "FieldPredictor": ".spaces.evidence.predictor",
    "what_ifs": ".mrf.what_if",
    "Evaluation": ".learning.evaluation",
    "evaluate": ".learning.evaluation",
    "LearnedPotential": ".learning.potential",
    "learn_potential": ".learning.potential",
    "LearnedPriors": ".learning.priors",
    "learn_priors": ".learning.priors",
    "McXai": ".mcxai.explainer",
    "FeatureSpace": ".spaces.protocol",
    "Image": ".spaces.image",
    "Series": ".spaces.series",
    "Sparse": ".spaces.sparse",
    "Tabular": ".spaces.tabular",
    "Text": ".spaces.text",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from ._base.progress import show_progress as show_progress
    from .archive import load as load
    from .batch.run import Failure as Failure
    from .batch.run import explain_many as explain_many
    from .batch.store.reader import Store as Store
    from .batch.store.reader import open_store as open_store
    from .errors import ContradictionError as ContradictionError
    from .errors import ConvergenceWarning as ConvergenceWarning
    from .errors import FileFormatError as FileFormatError
    from .errors import InputError as InputError
    from .errors import KeyPlayersError as KeyPlayersError
    from .errors import KeyPlayersWarning as KeyPlayersWarning
    from .errors import MissingPackageError as MissingPackageError
    from .errors import ModelError as ModelError
    from .errors import PrecisionWarning as PrecisionWarning
    from .errors import PredictionError as PredictionError
    from .errors import PredictorError as PredictorError
    from .errors import StoreLockedError as StoreLockedError
    from .errors import TooLargeError as TooLargeError
    from .errors import UnknownNameError as UnknownNameError
    from .explanation import Explainer as Explainer
    from .explanation import Explanation as Explanation
    from .graphshapley.explainer import GraphShapley as GraphShapley
    from .learning.evaluation import Evaluation as Evaluation
    from .learning.evaluation import evaluate as evaluate
    from .learning.potential import LearnedPotential as LearnedPotential
    from .learning.potential import learn_potential as learn_potential
    from .learning.priors import LearnedPriors as LearnedPriors
    from .learning.priors import learn_priors as learn_priors
    from .mcxai.explainer import McXai as McXai
    from .mrf.balls import Ball as Ball
    from .mrf.balls import ball as ball
    from .mrf.build.factors import Factor as Factor
    from .mrf.criticality import criticality as criticality
    from .mrf.factors import factors_of as factors_of
    from .mrf.field import MarkovRandomField as MarkovRandomField
    from .mrf.generators import chain_field as chain_field
    from .mrf.generators import grid_field as grid_field
    from .mrf.generators import random_field as random_field
    from .mrf.generators import scale_free_field as scale_free_field
    from .mrf.generators import star_field as star_field
    from .mrf.generators import tree_field as tree_field
    from .mrf.inference.beliefs import BeliefState as BeliefState
    from .mrf.inference.elimination import treewidth_bound as treewidth_bound
    from .mrf.inference.exact import exact_marginals as exact_marginals
    from .mrf.inference.propagation import belief_propagation as belief_propagation
    from .mrf.inference.registry import infer as infer
    from .mrf.inference.registry import inference_algorithms as inference_algorithms
    from .mrf.inference.registry import register_inference as register_inference
    from .mrf.what_if import REMOVED as REMOVED
    from .mrf.what_if import WhatIf as WhatIf
    from .mrf.what_if import what_if as what_if
    from .mrf.what_if import what_ifs as what_ifs
    from .readers import read_mrf as read_mrf
    from .readers import write_mrf as write_mrf
    from .report.compare import compare as compare
    from .spaces.evidence.predictor import FieldPredictor as FieldPredictor
    from .spaces.image import Image as Image
    from .spaces.protocol import FeatureSpace as FeatureSpace
    from .spaces.series import Series as Series
    from .spaces.sparse import Sparse as Sparse
    from .spaces.tabular import Tabular as Tabular
    from .spaces.text import Text as Text
