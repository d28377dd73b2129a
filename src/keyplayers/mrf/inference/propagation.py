"""`belief_propagation`: sum-product and max-product on a pairwise field, with four schedules."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.parallel import n_threads, thread_map
from ..._base.progress import Progress, Silent
from ...errors import ConvergenceWarning, InputError, PrecisionWarning
from ..field import MarkovRandomField
from ..pendant import strip_leaves
from . import _propagation_kernels as kernels
from .beliefs import BeliefState, Decoding
from .caveats import offer_exact
from .decoding import decode, decode_messages
from .fixed_points import find_doubt
from .flooding import lay_out, send_all, write_back
from .messages import (
    MAX_LOG_RANGE,
    Messages,
    are_narrow,
    fits_ratios,
    log_beliefs,
    pack,
    refuse_impossible,
    uniform,
)

Schedule = Literal["auto", "flooding", "sequential", "residual"]

# Sweeps before a run is given up. Most fields need fewer than 100; the rest oscillates or creeps.
MAX_SWEEPS = 1000
# Largest change of a log ratio of messages at which a run has converged, in nats. Rounding at a hub of 100,000
# neighbours is about 1e-11, so that much smaller values may never be reached.
TOLERANCE = 1e-9
# A change of a log ratio by more than this is no sign of convergence, whatever is asked.
MAX_TOLERANCE = 1.0
# "auto" turns to damping when, over so many sweeps, ...
_PATIENCE = 50
# ... the residual has not fallen to this share of what it was. Slower convergence is hardly worth waiting for.
_PROGRESS = 0.9
# The dampings that "auto" tries, one after the other.
_DAMPINGS = (0.5, 0.9)
# What a sweep is given that need not say by how much each message changed.
_NO_CHANGES = np.empty(0)
# Directed edges below which a sweep is too short to be shared between threads.
_SLOTS_PER_THREAD = 2**17


def belief_propagation(
    mrf: MarkovRandomField,
    *,
    schedule: Schedule = "auto",
    max_sweeps: int = MAX_SWEEPS,
    tolerance: float = TOLERANCE,
    damping: float = 0.0,
    max_product: bool = False,
    start: BeliefState | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> BeliefState:
    """Beliefs of all variables by passing messages.

    On a forest the beliefs are the exact marginals (with `max_product`: max-marginals, normalised). On a graph
    with cycles the result is a fixed point, if one is found: an approximation, see `exact_marginals`.

    Parameters
    ----------
    schedule
        "auto": trees are folded in exactly by one pass towards what they hang on and one back, which is all
        that a forest needs ("two-pass"); cycles are flooded, if need be with damping. The state's
        `schedule` and `damping` say what was done. "flooding": all messages anew from the old ones.
        "sequential": variable after variable, forth and back. "residual": where most has changed first.
    max_sweeps
        Sweeps (of at most 2E messages) after which the run stops, converged or not.
    tolerance
        The run has converged when a sweep changes no log ratio of a message's entries by more than this, in
        nats (and so no probability by more than a quarter of it), measured before damping.
    damping
        In [0, 1): share of the old message in the new one, in the log domain.
    max_product
        Max-product instead of sum-product.
    start
        A state to start from (warm) instead of uniform messages (cold). Components in which an exact zero was
        lifted since start cold. A field may have several fixed points; the state records how it started.
    n_jobs
        Threads for large fields; None: all cores, or what ``joblib.parallel_config`` says.
    progress
        Told after every sweep.

    Raises
    ------
    ContradictionError
        Exact zeros leave a variable no state. Contradictions on cycles may pass unnoticed.
    InputError
        An argument is out of range.

    Warns
    -----
    ConvergenceWarning
        `max_sweeps` were not enough; the message says what to try.
    PrecisionWarning
        A hub is far surer than its neighbourhood allows, for the field has several fixed points: see the state's
        `doubt`.

    References
    ----------
    Pearl, *Probabilistic Reasoning in Intelligent Systems*, 1988, chapter 4; Elidan, McGraw and Koller,
    "Residual belief propagation", UAI 2006, arXiv:1206.6837; Aksenov, Alistarh and Korhonen, "Scalable belief
    propagation via relaxed scheduling", NeurIPS 2020, arXiv:2002.11505 (why about the largest residual will do).

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [0.7, 0.3]}, homophily=0.9)
    >>> kp.belief_propagation(mrf).belief("b").round(3).tolist()
    [0.66, 0.34]
    """
    asked = _Asked(schedule, max_sweeps, tolerance, damping, max_product, n_jobs)
    state = _propagate(mrf, asked, start, progress or Silent())
    if not state.converged:
        _warn(state, schedule)
    elif not (state.exact or max_product):
        doubt = find_doubt(state, lambda held: _propagate(held, _Asked(n_jobs=n_jobs), None, Silent()))
        if doubt is not None:
            warnings.warn(str(doubt), PrecisionWarning, stacklevel=2)
            state = replace(state, doubt=doubt)
    return state


@dataclass(frozen=True)
class _Asked:
    """The settings of `belief_propagation`, checked."""

    schedule: str = "auto"
    max_sweeps: int = MAX_SWEEPS
    tolerance: float = TOLERANCE
    damping: float = 0.0
    max_product: bool = False
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.schedule not in _SCHEDULES:
            raise InputError(f"schedule must be one of {', '.join(_SCHEDULES)}, got {self.schedule!r}")
        if self.max_sweeps < 1:
            raise InputError(f"max_sweeps must be at least 1, got {self.max_sweeps}")
        if not 0 <= self.tolerance <= MAX_TOLERANCE:
            raise InputError(f"tolerance must be between 0 and {MAX_TOLERANCE:g} nats, got {self.tolerance}")
        if not 0 <= self.damping < 1:
            raise InputError(f"damping must be at least 0 and below 1, got {self.damping}")


def _propagate(
    mrf: MarkovRandomField, asked: _Asked, start: BeliefState | None, progress: Progress
) -> BeliefState:
    """One run, without a word about how it ended."""
    ratio = fits_ratios(mrf)
    values = uniform(mrf, ratio) if start is None else _warm_messages(mrf, ratio, start)
    progress.begin("belief propagation", asked.max_sweeps)
    with thread_map(_count_threads(mrf, asked.n_jobs)) as spread:
        run = _Run(mrf, pack(mrf, ratio), values, asked, spread, progress)
        schedule = _SCHEDULES[asked.schedule]
        done = schedule(run, asked.damping) if mrf.n_edges else Done("two-pass", 0.0, True)
    progress.end()
    return BeliefState(
        mrf=mrf,
        log_beliefs=log_beliefs(mrf, run.packed, run.values),
        origin=MessageOrigin(Messages(mrf, ratio, run.values, asked.max_product), done),
        schedule=done.schedule,
        converged=done.converged,
        exact=done.converged and (done.schedule == "two-pass" or mrf.is_forest),
        residuals=np.array([residual.probability for residual in run.residuals]),
        log_residuals=np.array([residual.log_ratio for residual in run.residuals]),
        damping=done.damping,
        max_product=asked.max_product,
        tolerance=asked.tolerance,
        start="cold" if start is None else "warm",
    )


class Done(NamedTuple):
    """How a schedule ended."""

    schedule: str
    damping: float
    converged: bool


class _Residual(NamedTuple):
    """The largest changes that a sweep made, before damping."""

    probability: float
    log_ratio: float  # nats


@dataclass(frozen=True, eq=False)
class MessageOrigin:
    """Beliefs that come from messages."""

    messages: Messages
    done: Done

    @property
    def log_partition(self) -> float:
        """Bethe approximation of log Z in nats; after max-product, the log weight of `mode`."""
        return self._mode.log_weight if self.messages.max_product else self.messages.log_partition

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] belief of both ends of a directed edge."""
        return self.messages.edge_belief(slot)

    def mode(self) -> Decoding:
        """What max-product messages suggest, checked and improved; after sum-product, max-product runs first."""
        return self._mode

    @cached_property
    def _mode(self) -> Decoding:
        mrf, messages = self.messages.mrf, self.messages
        if not mrf.is_forest:
            return decode(mrf, [decode_messages(mrf, messages.in_logs.values)], _solve_forest)
        if not (messages.max_product and self.done.converged):
            return belief_propagation(mrf, max_product=True).decoding
        states = decode_messages(mrf, messages.in_logs.values)
        log_weight = mrf.log_weight_at(states)
        return Decoding(states, log_weight, log_weight)


def _solve_forest(mrf: MarkovRandomField) -> Ints:
    return belief_propagation(mrf, max_product=True).decoding.states


@dataclass(eq=False)
class _Run:
    """Messages under way, and what every sweep needs."""

    mrf: MarkovRandomField
    packed: kernels.Packed
    values: Floats
    asked: _Asked
    spread: Callable[..., list[Any]]
    progress: Progress
    residuals: list[_Residual] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return len(self.residuals) >= self.asked.max_sweeps

    def in_place(self, order: Ints, damping: float = 0.0) -> _Residual:
        """The variables of `order` send one after the other, each knowing what was sent before."""
        return self._sweep(order, self.values, self.values, damping)

    def at_once(self, parts: list[Ints], into: Floats, damping: float = 0.0) -> _Residual:
        """All variables send from the same old messages; the parts may run in threads."""

        def sweep(part: Ints) -> _Residual:
            return self._sweep(part, self.values, into, damping)

        parted = self.spread(sweep, parts)
        return _Residual(
            max(residual.probability for residual in parted), max(residual.log_ratio for residual in parted)
        )

    def _sweep(self, order: Ints, old: Floats, new: Floats, damping: float) -> _Residual:
        if not len(order):
            return _Residual(0.0, 0.0)
        slots, in_ratios, ratios, logs = self.packed
        send, field = (kernels.send_ratios, ratios) if in_ratios else (kernels.send_logs, logs)
        impossible, probability, log_ratio = send(slots, field, order, old, new, self.rule(damping), _NO_CHANGES)
        refuse_impossible(self.mrf, impossible)
        return _Residual(probability, log_ratio)

    def rule(self, damping: float) -> kernels.Rule:
        return kernels.Rule(float(damping), self.asked.max_product)

    def record(self, residual: _Residual) -> None:
        """A sweep is over."""
        self.residuals.append(residual)
        self.progress.advance(1, f"residual {residual.probability:.1e}")

    def restart(self) -> None:
        """Back to messages that say nothing."""
        self.values = uniform(self.mrf, self.packed.in_ratios)


def _auto(run: _Run, damping: float) -> Done:
    """Trees folded in by one pass up and one down; cycles flooded in between, damped where they need it."""
    order, _, in_core = strip_leaves(run.mrf.slots.offsets, run.mrf.slots.neighbours)
    core = np.flatnonzero(in_core).astype(np.int32)
    upward = run.in_place(order)
    if not len(core):
        run.record(upward)
        run.in_place(order[::-1].copy())
        # every message is final after the second pass: another sweep would change nothing
        run.record(_Residual(0.0, 0.0))
        return Done("two-pass", 0.0, True)
    converged = _flood(run, core, damping, impatient=not damping)
    for stronger in () if damping else _DAMPINGS:
        if converged or run.exhausted:
            break
        damping = stronger
        run.restart()
        run.in_place(order)
        # the last attempt gets all sweeps that are left: nothing else would be tried instead
        converged = _flood(run, core, damping, impatient=stronger != _DAMPINGS[-1])
    run.in_place(order[::-1].copy())
    return Done("flooding", damping, converged)


def _flooding(run: _Run, damping: float) -> Done:
    variables = np.arange(run.mrf.n_variables, dtype=np.int32)
    return Done("flooding", damping, _flood(run, variables, damping, impatient=False))


def _flood(run: _Run, variables: Ints, damping: float, *, impatient: bool) -> bool:
    """Sweeps between `variables` until the run has converged, or ends; whether it has converged.

    What they send to others follows at the end: it feeds back into nothing.
    """
    sweep, finish = (_edge_flood if are_narrow(run.mrf) else _slot_flood)(run, variables)
    first = len(run.residuals)
    converged = False
    while not (converged or run.exhausted or (impatient and _stalls(run.residuals[first:]))):
        residual = sweep(damping)
        run.record(residual)
        converged = residual.log_ratio <= run.asked.tolerance
    finish()
    return converged


def _edge_flood(run: _Run, variables: Ints) -> tuple[Callable[[float], _Residual], Callable[[], None]]:
    """A sweep over messages that lie edge by edge, and how they get back into their slots."""
    edges = lay_out(run.mrf, run.packed, run.values, variables)

    def sweep(damping: float) -> _Residual:
        return _Residual(*send_all(edges, run.rule(damping), run.spread))

    def finish() -> None:
        write_back(edges, run.mrf.slots, run.values)
        if len(variables) < run.mrf.n_variables:
            outward = run.values.copy()
            run.at_once([variables], outward)
            write_back(edges, run.mrf.slots, outward)
            run.values = outward

    return sweep, finish


def _slot_flood(run: _Run, variables: Ints) -> tuple[Callable[[float], _Residual], Callable[[], None]]:
    """A sweep from one array of slots into the other."""
    parts = _partition(run.mrf, variables)
    spare = run.values.copy()  # the slots of other senders stay as they are

    def sweep(damping: float) -> _Residual:
        nonlocal spare
        residual = run.at_once(parts, spare, damping)
        run.values, spare = spare, run.values
        return residual

    return sweep, lambda: None


def _stalls(residuals: list[_Residual]) -> bool:
    """Whether the last sweeps brought no progress worth waiting for."""
    if len(residuals) % _PATIENCE or len(residuals) < 2 * _PATIENCE:
        return False
    before = min(residual.log_ratio for residual in residuals[-2 * _PATIENCE : -_PATIENCE])
    lately = min(residual.log_ratio for residual in residuals[-_PATIENCE:])
    return lately > _PROGRESS * before


def _sequential(run: _Run, damping: float) -> Done:
    order = np.arange(run.mrf.n_variables, dtype=np.int32)
    parts, spare = _partition(run.mrf, order), np.empty_like(run.values)
    while not run.exhausted:
        residual = run.in_place(order, damping)
        if residual.log_ratio <= run.asked.tolerance:
            # what was sent early in the sweep saw older messages than what was sent late: measure all at once
            residual = run.at_once(parts, spare)
        run.record(residual)
        if residual.log_ratio <= run.asked.tolerance:
            return Done("sequential", damping, True)
        order = order[::-1].copy()
    return Done("sequential", damping, False)


def _residual(run: _Run, damping: float) -> Done:
    queue = _everybody(run.mrf.n_variables)
    while not run.exhausted:
        impossible, probability, log_ratio, quiet = kernels.residual_sweep(
            run.packed, run.values, run.rule(damping), float(run.asked.tolerance), queue
        )
        refuse_impossible(run.mrf, impossible)
        if quiet:
            # nobody's incoming messages changed by more than the tolerance since it sent
            run.record(_Residual(min(probability, run.asked.tolerance), min(log_ratio, run.asked.tolerance)))
            return Done("residual", damping, True)
        run.record(_Residual(probability, log_ratio))
    return Done("residual", damping, False)


def _everybody(n: int) -> kernels.Queue:
    """A queue of all variables: nobody has sent yet, so everybody's residual is without bound."""
    top = kernels.N_LEVELS - 1
    after = np.arange(n + kernels.N_LEVELS, dtype=np.int32)  # an empty level is followed by itself
    before = after.copy()
    ring = np.append(np.arange(n, dtype=np.int32), n + top)
    after[ring], before[ring] = np.roll(ring, -1), np.roll(ring, 1)
    return kernels.Queue(np.full(n, np.inf), np.full(n, top, dtype=np.int32), after, before)


_SCHEDULES: dict[str, Callable[[_Run, float], Done]] = {
    "auto": _auto,
    "flooding": _flooding,
    "sequential": _sequential,
    "residual": _residual,
}


def _partition(mrf: MarkovRandomField, variables: Ints) -> list[Ints]:
    """`variables` cut into ranges of about equally many slots, one per thread's turn."""
    degrees = np.diff(mrf.slots.offsets)[variables]
    total = int(degrees.sum())
    n_parts = max(1, total // _SLOTS_PER_THREAD)
    cuts = np.searchsorted(np.cumsum(degrees), np.arange(1, n_parts) * (total / n_parts))
    return np.split(variables, cuts)


def _count_threads(mrf: MarkovRandomField, n_jobs: int | None) -> int:
    if 2 * mrf.n_edges < 2 * _SLOTS_PER_THREAD and n_jobs != 0:
        return 1
    return n_threads(n_jobs)


def _warm_messages(mrf: MarkovRandomField, ratio: bool, start: BeliefState) -> Floats:
    """The messages of `start`; uniform ones in components in which an exact zero was lifted since."""
    if not isinstance(start.origin, MessageOrigin):
        raise InputError("start must be a state of belief_propagation; exact marginals have no messages")
    before = start.mrf
    same = before.n_states is mrf.n_states or np.array_equal(before.n_states, mrf.n_states)
    if not (same and (before.edges is mrf.edges or np.array_equal(before.edges, mrf.edges))):
        raise InputError(
            "start belongs to another graph: "
            f"{before.n_variables} variables and {before.n_edges} edges, here {mrf.n_variables} and {mrf.n_edges}"
        )
    messages = start.origin.messages
    values = (messages if ratio == messages.ratio else messages.in_logs).values.copy()
    if ratio and not messages.ratio:
        logs = values.reshape(-1, 2)
        values = np.exp(np.clip(logs[:, 1] - logs[:, 0], -MAX_LOG_RANGE, MAX_LOG_RANGE))
    lifted = np.zeros(mrf.n_variables, dtype=bool)
    at = np.isneginf(before.log_priors) & ~np.isneginf(mrf.log_priors)
    lifted[np.repeat(np.arange(mrf.n_variables), mrf.n_states)[at]] = True
    if before.log_potentials is not mrf.log_potentials and np.isneginf(before.log_potentials).any():
        lifted[:] = True
    if lifted.any():
        cold = np.isin(mrf.components, np.unique(mrf.components[lifted]))
        fresh = cold[mrf.slots.neighbours]
        rows = fresh if ratio else np.repeat(fresh, mrf.n_states[mrf.slots.neighbours])
        values[rows] = uniform(mrf, ratio)[rows]
    return values


def _warn(state: BeliefState, asked: str) -> None:
    if asked == "auto" or state.damping >= max(_DAMPINGS):
        advice = "the field may have no stable fixed point; raise max_sweeps or weaken the potentials"
    else:
        stronger = _DAMPINGS[0] if state.damping < _DAMPINGS[0] else _DAMPINGS[1]
        advice = f"try damping={stronger}, schedule='auto' or more sweeps (max_sweeps)"
    offer = offer_exact(state.mrf)
    if offer:
        advice += f"; {offer.replace('can check them', 'answers exactly')}"
    warnings.warn(
        f"belief propagation did not converge in {state.n_sweeps} sweeps ({state.schedule}, damping "
        f"{state.damping:g}): the last one changed a probability by {state.residuals[-1]:.2g} and a log ratio by "
        f"{state.log_residuals[-1]:.2g} (tolerance {state.tolerance:g}); {advice}",
        ConvergenceWarning,
        stacklevel=3,
    )
