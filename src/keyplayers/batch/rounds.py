"""How a batch spends its time: targets go out in rounds to whatever workers there are."""

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .._base.interrupts import heed_termination, interrupted, noted_interrupts
from .._base.messages import speak_for_workers
from .._base.names import name_to_json
from .._base.parallel import WorkerDiedError, Workers, run_tasks, workers
from .._base.progress import Deadline, Progress, TimeIsUp
from .._base.seeding import child
from .._base.sharing import Shared, can_be_sent, share
from ..errors import KeyPlayersWarning
from ..explanation import Explainer, Prefer, original
from .store.encoding import DONE, FAILED, PARTIAL, Outcome, encode

# A round takes about so many seconds: what a kill may cost, against workers that wait for the last task.
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
_DIED = "the worker process died: it was killed (out of memory?), or what it ran ended it"


@dataclass(frozen=True)
class Targets:
    """What is to be explained: names, and by position what the explainer is given (made when it is needed)."""

    names: Sequence[Hashable]
    pick: Callable[[int], Any]
    table: str | None = None  # fingerprint of the table whose rows they are, where names are just positions

    def without(self, known: Container[Hashable]) -> list[int]:
        """Positions of those whose names are not known; of equal names the first."""
        first = {name: position for position, name in reversed(list(enumerate(self.names)))}
        return sorted(position for name, position in first.items() if name not in known)


@dataclass(frozen=True)
class Plan:
    """How the targets are worked on."""

    explainer: Explainer[Any]
    root: np.random.SeedSequence
    n_jobs: int | None
    prefer: Prefer | None  # None: whatever suits
    max_seconds: float | None  # per target
    folder: Path | None  # of the store, where a file for worker processes may stand
    progress: Progress

    @property
    def as_rows(self) -> bool:
        """Whether workers encode what they find: what comes back is small, and the work is spread, too."""
        return self.folder is not None


def work_through(
    plan: Plan, targets: Targets, chosen: Sequence[int], on_round: Callable[[list[Any]], None]
) -> None:
    """Explain the targets at the chosen positions.

    Parameters
    ----------
    on_round
        Given what each round found: a list of `Outcome`, or of `Rows`.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C was pressed; the round at work is lost.
    """
    if not chosen:
        return
    plan.explainer.prepare()  # once, not in every worker
    with ExitStack() as exits:
        exits.enter_context(heed_termination())
        exits.enter_context(noted_interrupts())
        exits.enter_context(_warnings_per_target())
        pool = _start_workers(plan, plan.prefer or plan.explainer.prefer or "threads", exits)
        plan.progress.begin(f"targets {_on_workers(pool)}", len(chosen))
        began, at, n_failed, size = time.monotonic(), 0, 0, _FIRST_ROUND * pool.workers.n_workers
        while at < len(chosen):
            positions = chosen[at : at + size]
            found = _work_round(plan, pool, [_job(plan, targets, position) for position in positions])
            on_round([result for done in found for result in done.results])
            at += len(positions)
            n_failed += sum(done.n_failed for done in found)
            plan.progress.advance(len(positions), note=_note(at, n_failed, time.monotonic() - began))
            seconds = [one for done in found for one in done.seconds]
            size = _next_size(size, pool.workers.n_workers, sum(seconds) / len(seconds))
            if _wants_processes(plan, pool, float(np.median(seconds)), len(chosen) - at):
                pool = _start_workers(plan, "processes", exits)
        plan.progress.end()


def _on_workers(pool: "_WorkerPool") -> str:
    n = pool.workers.n_workers
    return f"on {n:,} workers" if n > 1 else "on one worker"


def _note(n_done: int, n_failed: int, seconds: float) -> str:
    """The rate, and how many failed."""
    rate = f"{n_done / max(seconds, 1e-9):,.1f}/s"
    return f"{rate}, {n_failed:,} failed" if n_failed else rate


@dataclass(frozen=True)
class _WorkerPool:
    """Who works, and the handle to the explainer that they are given."""

    prefer: Prefer
    workers: Workers
    explainer: Shared[Explainer[Any]]


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
    as_rows: bool


@dataclass(frozen=True)
class _Done:
    """What came of a task."""

    results: list[Any]  # outcomes, or rows
    seconds: list[float]  # of each target
    n_failed: int


def _start_workers(plan: Plan, prefer: Prefer, exits: ExitStack) -> _WorkerPool:
    available = workers(plan.n_jobs, prefer)
    if not available.share_memory:
        speak_for_workers()
    shared = exits.enter_context(share(original(plan.explainer), available, plan.folder))
    return _WorkerPool(prefer, available, shared)


def _job(plan: Plan, targets: Targets, position: int) -> _Job:
    name = targets.names[position]
    return _Job(name, targets.pick(position), _seed(plan.root, name))


def _seed(root: np.random.SeedSequence, name: Hashable) -> int:
    """The seed of a target: of the run and of its name. Below 2**52, so that any reader of JSON keeps it."""
    written = json.dumps(name_to_json(name)).encode()
    index = int.from_bytes(hashlib.blake2b(written, digest_size=8).digest(), "little")
    return int(child(root, index).generate_state(1, np.uint64)[0] >> np.uint64(12))


def _work_round(plan: Plan, pool: _WorkerPool, jobs: Sequence[_Job]) -> list[_Done]:
    length = max(1, len(jobs) // (_TASKS_PER_WORKER * pool.workers.n_workers))
    tasks = [_task(plan, pool, jobs[i : i + length]) for i in range(0, len(jobs), length)]
    apart = not pool.workers.share_memory
    try:
        found = run_tasks(_work, tasks, n_jobs=plan.n_jobs, prefer=pool.prefer, apart=apart)
    except WorkerDiedError:
        if interrupted():
            raise KeyboardInterrupt from None
        found = _after_death(plan, pool, jobs)
    if interrupted():  # some engine took Ctrl-C for itself
        raise KeyboardInterrupt
    return found


def _task(plan: Plan, pool: _WorkerPool, jobs: Sequence[_Job]) -> "_Task":
    return _Task(pool.explainer, jobs, plan.max_seconds, plan.as_rows)


def _after_death(plan: Plan, pool: _WorkerPool, jobs: Sequence[_Job]) -> list[_Done]:
    """Jobs among which there is one that took its worker with it: done again in halves, until it is found."""
    if len(jobs) > 1:
        middle = len(jobs) // 2
        return _work_round(plan, pool, jobs[:middle]) + _work_round(plan, pool, jobs[middle:])
    began = time.monotonic()
    try:
        return run_tasks(_work, [_task(plan, pool, jobs)], n_jobs=plan.n_jobs, prefer=pool.prefer, apart=True)
    except WorkerDiedError:
        seconds = time.monotonic() - began
        failed = Outcome(jobs[0].name, FAILED, None, (), seconds, "WorkerDiedError", _DIED)
        return [_Done([encode([failed])] if plan.as_rows else [failed], [seconds], 1)]


def _next_size(size: int, n_workers: int, seconds: float) -> int:
    """How many targets the next round takes, from the mean seconds of one."""
    wanted = n_workers * _ROUND_SECONDS / max(seconds, 1e-9)
    return max(n_workers, round(min(wanted, size * _GROWTH)))


def _wants_processes(plan: Plan, pool: _WorkerPool, seconds: float, n_left: int) -> bool:
    """Whether threads would mostly wait for each other, and the rest is long enough to start processes."""
    if plan.prefer is not None or pool.workers.n_workers == 1 or not pool.workers.share_memory:
        return False
    if seconds > _MOSTLY_PYTHON_SECONDS or seconds * n_left < _WORTH_PROCESSES_SECONDS:
        return False
    return not workers(plan.n_jobs, "processes").share_memory and can_be_sent(original(plan.explainer))


def _work(task: _Task) -> _Done:
    """Explain the targets of a task."""
    explainer = task.explainer.thing
    with _warnings_per_target():
        outcomes = []
        for job in task.jobs:
            outcomes.append(_explain(explainer, job, task.max_seconds))
            if interrupted():
                raise KeyboardInterrupt
    results: list[Any] = outcomes
    if task.as_rows:
        try:
            results = [encode(outcomes)]
        except Exception:  # one that cannot be written must not take the others with it
            outcomes = [_writable(outcome) for outcome in outcomes]
            results = [encode(outcomes)]
    n_failed = sum(outcome.explanation is None for outcome in outcomes)
    return _Done(results, [outcome.seconds for outcome in outcomes], n_failed)


def _writable(outcome: Outcome) -> Outcome:
    """The outcome itself, or that it cannot be kept in a store."""
    try:
        encode([outcome])
    except Exception as error:
        kind, text = _error_text(error)
        return replace(outcome, status=FAILED, explanation=None, error_type=kind, error=text)
    return outcome


def _explain(explainer: Explainer[Any], job: _Job, max_seconds: float | None) -> Outcome:
    began = time.monotonic()
    explanation, kind, text = None, None, None
    caught: list[str] = []
    token = _caught.set(caught)
    try:
        deadline = Deadline(max_seconds, interrupted)
        explanation = explainer.explain(job.argument, random_state=job.seed, progress=deadline)
    except TimeIsUp:
        kind, text = "TimeIsUp", f"no result within {max_seconds} seconds"
    except (Exception, SystemExit) as error:  # a model that ends the program has failed like any other
        kind, text = _error_text(error)
    finally:
        _caught.reset(token)
    status = FAILED if explanation is None else PARTIAL if getattr(explanation, "partial", False) else DONE
    return Outcome(job.name, status, explanation, tuple(caught), time.monotonic() - began, kind, text)


def _error_text(error: BaseException) -> tuple[str, str]:
    return type(error).__name__, str(error)[:_MAX_MESSAGE]


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
