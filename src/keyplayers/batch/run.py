"""`explain_many`: thousands of targets in one go, into a store that survives whatever happens meanwhile."""

import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, overload

import narwhals.stable.v2 as nw

from .._base.frames import is_frame, read_frame
from .._base.names import plain_name
from .._base.parallel import workers
from .._base.progress import Progress, Silent
from .._base.seeding import RandomState, seed_sequence
from .._base.sharing import fingerprint
from ..errors import InputError, KeyPlayersWarning
from ..explanation import Explainer, Explanation, Prefer, complete, original
from .rounds import Plan, Targets, work_through
from .store.encoding import FAILED, PARTIAL, Outcome, join_rows
from .store.reader import Store, open_store
from .store.writer import Writer, seed_from_json, seed_to_json


@dataclass(frozen=True)
class Failure:
    """Stands where a target could not be explained. It is false, so ``filter(None, found)`` leaves it out."""

    target: Hashable
    error_type: str
    error: str

    def __bool__(self) -> bool:
        return False


@overload
def explain_many(
    explainer: Explainer[Any],
    targets: Any,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    store: None = None,
    max_seconds_per_target: float | None = None,
    retry: Collection[str] = (),
    prefer: Prefer | None = None,
    progress: Progress | None = None,
) -> list[Explanation[Any] | Failure]: ...
@overload
def explain_many(
    explainer: Explainer[Any],
    targets: Any,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    store: "str | PathLike[str]",
    max_seconds_per_target: float | None = None,
    retry: Collection[str] = (),
    prefer: Prefer | None = None,
    progress: Progress | None = None,
) -> Store: ...
def explain_many(
    explainer: Explainer[Any],
    targets: Any,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    store: "str | PathLike[str] | None" = None,
    max_seconds_per_target: float | None = None,
    retry: Collection[str] = (),
    prefer: Prefer | None = None,
    progress: Progress | None = None,
) -> "list[Explanation[Any] | Failure] | Store":
    """Explain many targets, with several workers, into a store.

    Parameters
    ----------
    explainer
        A `GraphShapley`, a `McXai`, or whatever has their ``explain``. Its field or model is shared by all
        workers: threads use it as it is, processes map it into memory.
    targets
        Names of what is explained; or ``{name: instance}``; or the rows of an array or a data frame, which are
        called 0, 1, ... (so a store that holds them goes on with the same table only). Targets that the store has
        already are not explained again.
    random_state
        Seed. Each target has a stream of its own that depends on its name alone, so numbers do not depend on
        workers, order, interruptions or the other targets. None: that of the store, else a fresh one.
    n_jobs
        Workers; None leaves the choice to the caller's ``joblib.parallel_config``, -1 is all cores.
    store
        Folder of the store, new or begun. A run that was killed goes on where it was when called again.
        Without one everything is returned at the end.
    max_seconds_per_target
        After this time a target gives what there is by then, marked partial. It is heard between two blocks of an
        engine, not within a call of a user's model.
    retry
        "failed", "partial": what the store has of these is dropped and done again.
    prefer
        "threads" or "processes"; default: what the explainer says (its attribute ``prefer``), else threads; and
        processes where many targets turn out so small that threads would wait for each other. The caller's
        ``joblib.parallel_config`` has the last word.
    progress
        Told how many targets are done, and the rate.

    Returns
    -------
    Store or list
        The store; without one a list in the order of `targets`, an `Explanation` each, or a `Failure` where a
        target could not be explained.

    Raises
    ------
    StoreLockedError
        Another process is writing into the store.
    InputError
        The store was made with other settings, another seed or another field.
    KeyboardInterrupt
        Ctrl-C was pressed; the store keeps the rounds that were complete.

    Warns
    -----
    KeyPlayersWarning
        Some targets failed, or came with warnings of their own.
    """
    _check(max_seconds_per_target, retry)
    explainer = complete(explainer)
    _ = workers(n_jobs, prefer)  # refuses what cannot be before anything is written
    chosen = _read_targets(targets)
    root = None if random_state is None else seed_sequence(random_state)
    plan = Plan(
        explainer=explainer,
        root=root or seed_sequence(None),
        n_jobs=n_jobs,
        prefer=prefer,
        max_seconds=max_seconds_per_target,
        folder=None if store is None else Path(store),
        progress=progress or Silent(),
    )
    if store is None:
        return _into_list(plan, chosen)
    path = Path(store)
    made_with = describe(explainer) | {
        "table": chosen.table,
        "seed": None if root is None else seed_to_json(root),
    }
    with Writer(path, made_with) as writer:
        if retry:
            writer.forget(retry)
        left = chosen.without(writer.statuses())
        plan = replace(plan, root=seed_from_json(writer.made_with["seed"]))
        work_through(plan, chosen, left, lambda rows: writer.commit(join_rows(rows)))
    found = open_store(path)
    _tell(found, {chosen.names[position] for position in left})
    return found


def _check(max_seconds_per_target: float | None, retry: Collection[str]) -> None:
    if max_seconds_per_target is not None and not max_seconds_per_target > 0:
        raise InputError(f"max_seconds_per_target must be positive, got {max_seconds_per_target}")
    unknown = sorted(set(retry) - {FAILED, PARTIAL})
    if unknown:
        raise InputError(f"retry takes {FAILED!r} and {PARTIAL!r}, got {unknown[0]!r}")


def describe(explainer: Explainer[Any]) -> dict[str, Any]:
    """What decides an explainer's numbers, as JSON can hold it."""
    kind = type(original(explainer))
    settings, fingerprint = explainer.identity()
    return {
        "explainer": f"{kind.__module__}.{kind.__qualname__}",
        "settings": dict(settings),
        "fingerprint": fingerprint,
    }


def _read_targets(targets: Any) -> Targets:
    if isinstance(targets, Mapping):
        instances = list(targets.values())
        return Targets([plain_name(name) for name in targets], instances.__getitem__)
    if is_frame(targets):
        frame = read_frame(targets)
        # positions are no names: that they mean the same rows is known by what the rows hold
        known = fingerprint({name: frame[name].to_numpy() for name in frame.columns})
        if nw.dependencies.is_pandas_dataframe(targets):  # whose columns may have other names than texts
            return Targets(range(len(frame)), lambda row: targets.iloc[row : row + 1], known)
        return Targets(range(len(frame)), lambda row: frame[row : row + 1].to_native(), known)
    if getattr(targets, "ndim", 1) > 1:  # rows of an array, dense or sparse
        return Targets(range(targets.shape[0]), targets.__getitem__, fingerprint(targets))
    if isinstance(targets, str | bytes) or not isinstance(targets, Iterable):
        raise InputError(f"targets must be several: a list of names or the rows of a table, got {targets!r}")
    given = [plain_name(target) for target in targets]
    # instances without a name, such as images, are called by their position
    names = [target if isinstance(target, Hashable) else position for position, target in enumerate(given)]
    unnamed = any(not isinstance(target, Hashable) for target in given)
    return Targets(names, given.__getitem__, fingerprint(given) if unnamed else None)


def _into_list(plan: Plan, targets: Targets) -> list[Explanation[Any] | Failure]:
    outcomes: list[Outcome] = []
    work_through(plan, targets, range(len(targets.names)), outcomes.extend)
    failed = {o.target: o.error or "" for o in outcomes if o.explanation is None}
    _warn(len(outcomes), failed, {o.target: o.warnings[0] for o in outcomes if o.warnings})
    return [
        Failure(outcome.target, outcome.error_type or "", outcome.error or "")
        if outcome.explanation is None
        else outcome.explanation
        for outcome in outcomes
    ]


def _tell(store: Store, asked: set[Hashable]) -> None:
    """Warn of what went wrong with the targets of this run."""
    failed = {name: error for name, error in store.failures.items() if name in asked}
    _warn(len(asked), failed, {name: texts[0] for name, texts in store.warnings.items() if name in asked})


def _warn(n_targets: int, failed: Mapping[Hashable, str], warned: Mapping[Hashable, str]) -> None:
    """One warning for all failures, one for all warnings."""
    for about, what in ((failed, "failed"), (warned, "came with warnings")):
        if about:
            name, text = next(iter(about.items()))
            warnings.warn(
                f"{len(about):,} of {n_targets:,} targets {what}; the first, {name!r}: {text}",
                KeyPlayersWarning,
                stacklevel=4,
            )
