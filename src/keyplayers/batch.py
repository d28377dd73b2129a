"""`explain_many`: thousands of targets in one go, into a store that survives whatever happens meanwhile."""

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias, overload

import numpy as np

from .errors import InputError, KeyPlayersWarning
from .explanation import Explainer, Explanation
from .frames import is_frame, read_frame
from .interrupts import interrupted, noted_interrupts
from .mrf.names import name_to_json, plain_name
from .parallel import Workers, run_tasks, workers
from .progress import Deadline, Progress, Silent, TimeIsUp
from .seeding import RandomState, child, seed_sequence
from .sharing import Shared, can_be_sent, share
from .store.encoding import DONE, FAILED, PARTIAL, Outcome, encode, join_rows
from .store.reader import Store, open_store
from .store.writer import Writer, seed_from_json, seed_to_json

Prefer: TypeAlias = Literal["threads", "processes"]

# Work goes out in rounds of about so many seconds: what a kill may cost, against workers that wait for the last
# task of a round.
_ROUND_SECONDS = 5.0
# Tasks per worker and round: more keep workers busier towards the end of a round and cost a message each.
_TASKS_PER_WORKER = 16
# Targets per worker in the first round, when nobody knows yet how long one takes; later rounds grow by at most
# this factor.
_FIRST_ROUND = 2
_GROWTH = 4.0
# A target that takes less than this is mostly Python, of which threads run one at a time (of GraphShapley's work
# half at 3 ms a target, a fifth at 9 ms); so are processes worth their start where so many seconds are left.
_MOSTLY_PYTHON_SECONDS = 0.01
_WORTH_PROCESSES_SECONDS = 20.0
# characters of an error message that are kept
_MAX_MESSAGE = 2_000


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
        called 0, 1, ... Targets that the store has already are not explained again.
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
    if max_seconds_per_target is not None and not max_seconds_per_target > 0:
        raise InputError(f"max_seconds_per_target must be positive, got {max_seconds_per_target}")
    unknown = sorted(set(retry) - {FAILED, PARTIAL})
    if unknown:
        raise InputError(f"retry takes {FAILED!r} and {PARTIAL!r}, got {unknown[0]!r}")
    chosen = _read_targets(targets)
    _ = workers(n_jobs, prefer)  # refuses what cannot be before anything is written
    run = _Run(explainer, n_jobs, prefer, max_seconds_per_target, progress or Silent())
    if store is None:
        return run.into_list(chosen, seed_sequence(random_state))
    root = None if random_state is None else seed_sequence(random_state)
    return run.into_store(chosen, root, Path(store), retry)


@dataclass(frozen=True)
class _Targets:
    """What is to be explained: names, and by position what the explainer is given (made when it is needed)."""

    names: Sequence[Hashable]
    pick: Callable[[int], Any]

    def without(self, known: Container[Hashable]) -> "list[int]":
        """Positions of the first of each name that is not known."""
        first = {name: position for position, name in reversed(list(enumerate(self.names)))}
        return sorted(position for name, position in first.items() if name not in known)


@dataclass(frozen=True)
class _Job:
    """One target for a worker."""

    name: Hashable
    argument: Any
    seed: int


@dataclass(frozen=True)
class _Task:
    """Some targets for one worker."""

    explainer: Shared[Explainer[Any]]
    jobs: Sequence[_Job]
    max_seconds: float | None
    as_rows: bool  # encode in the worker: what comes back is small, and the work is spread, too


@dataclass(frozen=True)
class _Done:
    """What came of a task."""

    result: Any  # outcomes, or rows
    seconds: list[float]  # of each target


@dataclass(frozen=True)
class _Run:
    """How the targets are worked on."""

    explainer: Explainer[Any]
    n_jobs: int | None
    prefer: Prefer | None
    max_seconds: float | None
    progress: Progress

    def into_list(self, targets: _Targets, root: np.random.SeedSequence) -> list[Explanation[Any] | Failure]:
        """Everything in memory."""
        outcomes: list[Outcome] = []
        everything = list(range(len(targets.names)))
        self._go(
            targets,
            everything,
            root,
            None,
            False,
            lambda found: outcomes.extend(o for some in found for o in some),
        )
        failed = [outcome for outcome in outcomes if outcome.explanation is None]
        warned = [outcome for outcome in outcomes if outcome.warnings]
        _warn(
            len(outcomes),
            len(failed),
            next(((o.target, o.error) for o in failed), None),
            len(warned),
            next(((o.target, o.warnings[0]) for o in warned), None),
        )
        return [_result(outcome) for outcome in outcomes]

    def into_store(
        self, targets: _Targets, root: np.random.SeedSequence | None, path: Path, retry: Collection[str]
    ) -> Store:
        """Into a folder, leaving out what it has."""
        seed = None if root is None else seed_to_json(root)
        with Writer(path, {**describe(self.explainer), "seed": seed}) as writer:
            if retry:
                writer.forget(retry)
            left = targets.without(writer.statuses())
            root = seed_from_json(writer.made_with["seed"])
            self._go(targets, left, root, path, True, lambda found: writer.commit(join_rows(found)))
        found = open_store(path)
        asked = {targets.names[position] for position in left}
        failures = {name: error for name, error in found.failures.items() if name in asked}
        warned = {name: texts for name, texts in found.warnings.items() if name in asked}
        _warn(
            len(left),
            len(failures),
            next(iter(failures.items()), None),
            len(warned),
            next(((name, texts[0]) for name, texts in warned.items()), None),
        )
        return found

    def _go(
        self,
        targets: _Targets,
        chosen: list[int],
        root: np.random.SeedSequence,
        folder: Path | None,
        as_rows: bool,
        keep: Callable[[list[Any]], None],
    ) -> None:
        """Work on the targets, round after round; `keep` is given what each round found, task by task."""
        if not chosen:
            return
        prepare = getattr(self.explainer, "prepare", None)
        if prepare is not None:
            prepare()  # once, not in every worker
        prefer: Prefer = self.prefer or getattr(self.explainer, "prefer", None) or "threads"
        crew = workers(self.n_jobs, prefer)
        with ExitStack() as exits:
            handle = exits.enter_context(share(self.explainer, crew, folder))
            exits.enter_context(noted_interrupts())
            exits.enter_context(_warnings_per_target())
            self.progress.begin("targets", len(chosen))
            began, at, size = time.monotonic(), 0, _FIRST_ROUND * crew.n_workers
            while at < len(chosen):
                round_began = time.monotonic()
                jobs = [
                    _Job(targets.names[i], targets.pick(i), _seed(root, targets.names[i]))
                    for i in chosen[at : at + size]
                ]
                tasks = self._tasks(handle, jobs, as_rows, crew)
                found = run_tasks(_work, tasks, n_jobs=self.n_jobs, prefer=prefer)
                if interrupted():  # some engine took Ctrl-C for itself
                    raise KeyboardInterrupt
                keep([done.result for done in found])
                at += len(jobs)
                now = time.monotonic()
                self.progress.advance(len(jobs), note=f"{at / max(now - began, 1e-9):,.1f}/s")
                wanted = len(jobs) * _ROUND_SECONDS / max(now - round_began, 1e-9)
                size = max(crew.n_workers, round(min(wanted, size * _GROWTH)))
                typical = float(np.median([seconds for done in found for seconds in done.seconds]))
                if self.prefer is None and crew.share_memory and self._wants_processes(typical, len(chosen) - at):
                    prefer, crew = "processes", workers(self.n_jobs, "processes")
                    handle = exits.enter_context(share(self.explainer, crew, folder))
            self.progress.end()

    def _tasks(
        self,
        handle: Shared[Explainer[Any]],
        jobs: list[_Job],
        as_rows: bool,
        crew: Workers,
    ) -> list[_Task]:
        """The targets of a round in pieces."""
        length = max(1, len(jobs) // (_TASKS_PER_WORKER * crew.n_workers))
        pieces = [jobs[i : i + length] for i in range(0, len(jobs), length)]
        return [_Task(handle, piece, self.max_seconds, as_rows) for piece in pieces]

    def _wants_processes(self, seconds: float, n_left: int) -> bool:
        """Whether threads would mostly wait for each other, and the rest is long enough to start processes."""
        small = seconds < _MOSTLY_PYTHON_SECONDS and seconds * n_left > _WORTH_PROCESSES_SECONDS
        return small and not workers(self.n_jobs, "processes").share_memory and can_be_sent(self.explainer)


def describe(explainer: Explainer[Any]) -> dict[str, Any]:
    """What decides an explainer's numbers, as JSON can hold it.

    An explainer says so itself: ``explainer.identity()`` returns its settings and a fingerprint of its field,
    model or data. For one that does not, its public attributes count, as far as JSON can hold them.
    """
    kind = type(explainer)
    identity = getattr(explainer, "identity", None)
    settings, fingerprint = (_attributes(explainer), None) if identity is None else identity()
    return {
        "explainer": f"{kind.__module__}.{kind.__qualname__}",
        "settings": dict(settings),
        "fingerprint": fingerprint,
    }


def _attributes(explainer: Any) -> dict[str, Any]:
    plain = {}
    for name, value in getattr(explainer, "__dict__", {}).items():
        if not name.startswith("_"):
            try:
                plain[name] = json.loads(json.dumps(value))
            except (TypeError, ValueError):
                continue
    return plain


def _read_targets(targets: Any) -> "_Targets":
    if isinstance(targets, Mapping):
        instances = list(targets.values())
        return _Targets([plain_name(name) for name in targets], instances.__getitem__)
    if is_frame(targets):
        frame = read_frame(targets)
        return _Targets(range(len(frame)), lambda row: frame[row : row + 1].to_native())
    if getattr(targets, "ndim", 1) > 1:  # rows of an array, dense or sparse
        return _Targets(range(targets.shape[0]), targets.__getitem__)
    if isinstance(targets, str | bytes) or not isinstance(targets, Iterable):
        raise InputError(f"targets must be several: a list of names or the rows of a table, got {targets!r}")
    given = [plain_name(target) for target in targets]
    # instances without a name, such as images, are called by their position
    names = [target if isinstance(target, Hashable) else position for position, target in enumerate(given)]
    return _Targets(names, given.__getitem__)


def _seed(root: np.random.SeedSequence, name: Hashable) -> int:
    """The seed of a target: of the run and of its name. Below 2**52, so that any reader of JSON keeps it."""
    written = json.dumps(name_to_json(name)).encode()
    index = int.from_bytes(hashlib.blake2b(written, digest_size=8).digest(), "little")
    return int(child(root, index).generate_state(1, np.uint64)[0] >> np.uint64(12))


def _work(task: _Task) -> _Done:
    """Explain the targets of a task."""
    with _warnings_per_target():
        outcomes = []
        for job in task.jobs:
            outcomes.append(_explain(task, job))
            if interrupted():
                raise KeyboardInterrupt
    return _Done(encode(outcomes) if task.as_rows else outcomes, [outcome.seconds for outcome in outcomes])


def _explain(task: _Task, job: _Job) -> Outcome:
    began = time.monotonic()
    explanation, error = None, None
    caught: list[str] = []
    token = _caught.set(caught)
    try:
        deadline = Deadline(task.max_seconds, interrupted)
        explanation = task.explainer.thing.explain(job.argument, random_state=job.seed, progress=deadline)
    except TimeIsUp:
        error = ("TimeIsUp", f"no result within {task.max_seconds} seconds")
    except Exception as failed:
        error = (type(failed).__name__, str(failed)[:_MAX_MESSAGE])
    finally:
        _caught.reset(token)
    status = FAILED if explanation is None else PARTIAL if getattr(explanation, "partial", False) else DONE
    error_type, message = error or (None, None)
    return Outcome(job.name, status, explanation, error_type, message, tuple(caught), time.monotonic() - began)


def _result(outcome: Outcome) -> Explanation[Any] | Failure:
    if outcome.explanation is None:
        return Failure(outcome.target, outcome.error_type or "", outcome.error or "")
    return outcome.explanation


# where warnings about the target at hand go
_caught: ContextVar[list[str] | None] = ContextVar("caught", default=None)


@contextmanager
def _warnings_per_target() -> Iterator[None]:
    """Keep the library's warnings with the target that they are about, instead of showing thousands."""
    shown = warnings.showwarning
    if getattr(shown, "keeps", False):  # in a thread of a process that does so already
        yield
        return

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        caught = _caught.get()
        if caught is not None and issubclass(category, KeyPlayersWarning):
            caught.append(f"{category.__name__}: {message}")
        else:
            shown(message, category, filename, lineno, file, line)

    keep.keeps = True  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("always", KeyPlayersWarning)
        warnings.showwarning = keep
        yield


def _warn(
    n_targets: int,
    n_failed: int,
    failure: tuple[Hashable, Any] | None,
    n_warned: int,
    warning: tuple[Hashable, Any] | None,
) -> None:
    """One warning for all failures, one for all warnings."""
    if failure is not None:
        warnings.warn(
            f"{n_failed:,} of {n_targets:,} targets failed; the first, {failure[0]!r}: {failure[1]}",
            KeyPlayersWarning,
            stacklevel=4,
        )
    if warning is not None:
        warnings.warn(
            f"{n_warned:,} of {n_targets:,} targets came with warnings; the first, {warning[0]!r}: {warning[1]}",
            KeyPlayersWarning,
            stacklevel=4,
        )
