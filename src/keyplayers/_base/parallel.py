"""Parallel work in one place: tasks through joblib, ranges of one array through threads."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeVar

from ..errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")


# set for worker processes while they start: they import nothing from the current folder
_SAFE_PATH = "PYTHONSAFEPATH"


class WorkerDiedError(RuntimeError):
    """A worker process ended without a word: killed, out of memory, or ended by what it ran."""


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    prefer: Literal["threads", "processes"] | None = None,
    apart: bool = False,
) -> list[Result]:
    """``[function(task) for task in tasks]``, spread over joblib's workers, in order.

    Parameters
    ----------
    function
        Called once per task. With processes: a module-level function of picklable data.
    n_jobs
        Workers; None leaves the choice to the caller's ``joblib.parallel_config``, -1 is all cores.
    prefer
        "threads" for kernels that release the GIL, "processes" for Python models; the caller's
        ``parallel_config`` has the last word.
    apart
        Whether even a single task goes to a worker: what it runs may take its process with it.

    Raises
    ------
    WorkerDiedError
        A worker process died; what the others did is lost.
    """
    if (len(tasks) < 2 and not apart) or n_jobs == 1:
        return [function(task) for task in tasks]
    import joblib

    parallel: Any = joblib.Parallel(n_jobs=n_jobs, prefer=prefer)
    try:
        with _safe_path():
            return list(parallel(joblib.delayed(function)(task) for task in tasks))
    except BrokenExecutor as error:
        raise WorkerDiedError("a worker process died") from error


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python that starts within the block finds no modules in the current folder, which may hold a json.py."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def leave_safe_path() -> None:
    """In a worker that has started: what it starts itself is its own affair."""
    os.environ.pop(_SAFE_PATH, None)


class Workers(NamedTuple):
    """Who would work on the tasks of `run_tasks`."""

    n_workers: int
    share_memory: bool  # threads of this process
    on_this_machine: bool


def workers(n_jobs: int | None = None, prefer: Literal["threads", "processes"] | None = None) -> Workers:
    """The workers that `run_tasks` would use with these arguments, in the caller's joblib context."""
    import joblib
    from joblib.parallel import get_active_backend

    if n_jobs == 0:
        raise InputError("n_jobs must not be 0: give a number of workers, -1 for all cores, or None")
    backend, configured = get_active_backend(prefer=prefer)
    if n_jobs is None:
        n_jobs = configured or 1
    count = 1 if n_jobs == 1 else max(1, int(backend.effective_n_jobs(n_jobs)))
    if count == 1:
        return Workers(1, True, True)
    local = type(backend).__module__.startswith(joblib.__name__ + ".")
    return Workers(count, bool(getattr(backend, "supports_sharedmem", False)), local)


def n_threads(n_jobs: int | None) -> int:
    """How many threads a kernel over one big array may use.

    None: what the caller's ``joblib.parallel_config`` says; all cores outside of one, a single one inside
    a joblib worker (the cores are busy already).
    """
    import joblib
    from joblib.parallel import get_active_backend

    if n_jobs == 0:
        raise InputError("n_jobs must not be 0: give a number of workers, -1 for all cores, or None")
    if n_jobs is None:
        backend, configured = get_active_backend()
        if configured is None and not backend.nesting_level:
            return int(joblib.cpu_count())
    return int(joblib.effective_n_jobs(n_jobs))


@contextmanager
def thread_map(workers: int) -> Iterator[Callable[[Callable[[Task], Result], Sequence[Task]], list[Result]]]:
    """A ``map`` over threads that stay alive, for many short rounds over the same array.

    A joblib call costs some ten milliseconds, more than a sweep over a million edges takes.
    """
    if workers < 2:
        yield lambda function, tasks: [function(task) for task in tasks]
        return
    with ThreadPoolExecutor(workers) as pool:
        yield lambda function, tasks: list(pool.map(function, tasks))
