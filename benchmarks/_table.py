"""What benchmarks share: one core, interleaved timing, one table of ratios (terminal or JSON).

A benchmark pairs ours with a named rival on the same input in one process and reports the ratio of their times::

    pin_to_one_core()                                      # before importing anything that starts threads
    ours, theirs = interleave(run_ours, run_rival, repeats=5)
    rows.append(paired("sweep", "random, 1e5 edges", "PGMax", ours, theirs, unit="ns/edge", per=1e-9 * n_edges,
                       goal=5, evaluations=n_messages))
    rows.append(limited("memory", "1e7 edges", 61.3, unit="B/edge", goal=100, evaluations=n_messages))
    show(rows, as_json=arguments.json)
"""

import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    benchmark: str
    case: str  # the input
    ours: float  # median over the repetitions, in `unit`
    unit: str
    rival: str | None  # whom we are paired with
    theirs: float | None  # median, in `unit`
    ratio: (
        float | None
    )  # median of theirs / ours, repetition by repetition: how many times faster or smaller we are
    ratio_min: float | None
    ratio_max: float | None
    goal: float | None  # least ratio where there is a rival, else largest `ours`
    evaluations: int  # of what the benchmark counts, per timed repetition of ours

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        return self.ours <= self.goal if self.ratio is None else self.ratio >= self.goal


def pin_to_one_core() -> None:
    """Keep this process and its children on one core, and tell thread pools of later imports that there is one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"


def interleave(
    *functions: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time
) -> list[list[float]]:
    """Seconds of every function and repetition, run in turn (A B A B ..) so that all meet the same noise.

    The default clock counts the processor time of all threads of this process: on one core that is the wall-clock
    time an idle machine would show, and neighbours on a busy one do not enter.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, mine in zip(functions, seconds, strict=True):
            gc.collect()
            start = clock()
            function()
            mine.append(clock() - start)
    return seconds


def per_step(
    run: Callable[[int], Any], few: int, many: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds of one step of an iteration: what `many` steps take longer than `few`, so that set-up cancels."""
    gc.collect()
    start = clock()
    run(few)
    middle = clock()
    run(many)
    return ((clock() - middle) - (middle - start)) / (many - few)


def paired(
    benchmark: str,
    case: str,
    rival: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    unit: str = "s",
    per: float = 1.0,
    goal: float | None = None,
    evaluations: int,
) -> Row:
    """A row with a rival: seconds of each repetition are divided by `per` to give `unit`."""
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Row(benchmark, case, median(ours) / per, unit, rival, median(theirs) / per,
               median(ratios), min(ratios), max(ratios), goal, evaluations)  # fmt: skip


def limited(
    benchmark: str, case: str, ours: float, *, unit: str, goal: float | None = None, evaluations: int
) -> Row:
    """A row without a rival: a quantity of ours that should stay below `goal`."""
    return Row(benchmark, case, ours, unit, None, None, None, None, None, goal, evaluations)


def show(rows: Iterable[Row], *, title: str = "", as_json: bool = False) -> None:
    """Print the table to standard output."""
    rows = list(rows)
    if as_json:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        lines = [asdict(row) | {"met": row.met} for row in rows]
        print(json.dumps({"title": title, "machine": machine, "rows": lines}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("benchmark", "input", title=title)
    for column in ("ours", "rival", "ratio (min-max)", "goal", "evaluations"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*_cells(row), style={True: "green", False: "red", None: ""}[row.met])
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _cells(row: Row) -> tuple[str, ...]:
    rival, ratio, goal = "", "", ""
    if row.theirs is not None and row.ratio is not None:
        rival = f"{row.rival} {row.theirs:.3g} {row.unit}"
        ratio = f"{row.ratio:.3g} ({row.ratio_min:.3g}-{row.ratio_max:.3g})"
    if row.goal is not None:
        goal = f"{'≤' if row.ratio is None else '≥'} {row.goal:g} {'met' if row.met else 'missed'}"
    return row.benchmark, row.case, f"{row.ours:.3g} {row.unit}", rival, ratio, goal, f"{row.evaluations:,}"
