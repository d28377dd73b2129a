"""What changed: two explanations side by side, or two stores."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._base.arrays import Bools, Floats
from .._base.frames import make_frame
from .._base.markup import table_html
from .._base.names import name_to_json
from .._base.printable import shortened
from ..batch.store.reader import Store
from ..errors import InputError
from ..explanation import Explanation
from ..plots.canvas import AGAINST, FOR, NEITHER, PLAIN, axes_or_new, describe_values, label, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two values differ where they are farther apart than so many of their common standard errors, and than rounding.
_SURE, _ROUNDING = 2.0, 1e-9
# players that a sentence names, and letters of a name in it
_NAMED, _LONGEST = 3, 40
# rows that a notebook shows
_SHOWN = 10


class Decision(NamedTuple):
    """What is believed or predicted."""

    state: Hashable  # None where the method does not say
    probability: float | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two explanations side by side; players by the size of the change of their values."""

    first: Explanation[Any]
    second: Explanation[Any]
    players: tuple[Hashable, ...]  # [n] of both
    values: Floats  # [n, 2] NaN where a player takes no part
    errors: Floats  # [n, 2] how far values may be off; NaN where nobody knows

    @property
    def changes(self) -> Floats:
        """[n] second less first; who takes no part has the value 0."""
        known = np.nan_to_num(self.values)
        changes: Floats = known[:, 1] - known[:, 0]
        return changes

    @property
    def differs(self) -> Bools:
        """[n] whether a change is larger than both values may be off."""
        unsure = _SURE * np.sqrt(np.nansum(self.errors**2, axis=1))
        differs: Bools = np.abs(self.changes) > np.maximum(unsure, _ROUNDING)
        return differs

    @cached_property
    def status(self) -> tuple[str, ...]:
        """[n] "new", "gone", "changed" or "same"."""
        missing = np.isnan(self.values)
        return tuple(
            "new" if only_second else "gone" if only_first else "changed" if differs else "same"
            for (only_second, only_first), differs in zip(missing.tolist(), self.differs.tolist(), strict=True)
        )

    @property
    def sentence(self) -> str:
        """What changed in plain words."""
        told = [_decisions(self.first, self.second), *self._who()]
        if not self.differs.any():
            told.append("No player's value differs by more than it may be off.")
        return " ".join(told)

    def _who(self) -> Iterator[str]:
        for status, opening in (("new", "New"), ("gone", "Gone"), ("changed", "Changed most")):
            chosen = [i for i, its in enumerate(self.status) if its == status and self.differs[i]]
            if chosen:
                more = f" and {len(chosen) - _NAMED:,} more" if len(chosen) > _NAMED else ""
                yield f"{opening}: {', '.join(map(self._moved, chosen[:_NAMED]))}{more}."

    def _moved(self, i: int) -> str:
        before, after = np.nan_to_num(self.values[i])
        return f"{_name(self.players[i])} ({before:.3g} -> {after:.3g})"

    @property
    def settings(self) -> dict[str, tuple[Any, Any]]:
        """Settings that differ."""
        a, b = self.first.settings, self.second.settings
        return {key: (a.get(key), b.get(key)) for key in dict.fromkeys((*a, *b)) if a.get(key) != b.get(key)}

    @property
    def columns(self) -> dict[str, Any]:
        """The table: name, first, second, change, status."""
        return {
            "name": list(self.players),
            "first": self.values[:, 0],
            "second": self.values[:, 1],
            "change": self.changes,
            "status": list(self.status),
        }

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per player, the largest change first."""
        return make_frame(self.columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold."""
        rows = zip(self.players, self.values.tolist(), self.changes.tolist(), self.status, strict=True)
        return {
            "schema": 1,
            "kind": "comparison",
            "targets": [name_to_json(each.target) for each in (self.first, self.second)],
            "unit": self.first.unit,
            "sentence": self.sentence,
            "settings": {key: [str(a), str(b)] for key, (a, b) in self.settings.items()},
            "players": [
                {
                    "name": name_to_json(player),
                    "first": None if np.isnan(a) else a,
                    "second": None if np.isnan(b) else b,
                    "change": change,
                    "status": status,
                }
                for player, (a, b), change, status in rows
            ],
        }

    def plot(self, ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
        """Values before (hollow) and after (full) of the players that changed most."""
        ax = axes_or_new(ax, height=1.2 + 0.3 * min(top, max(len(self.players), 3)))
        values, rows = np.nan_to_num(self.values[:top]), np.arange(min(top, len(self.players)))
        for row, (before, after), differs in zip(rows, values, self.differs[:top], strict=True):
            colour = NEITHER if not differs else FOR if after > before else AGAINST
            ax.plot([before, after], [row, row], color=colour, linewidth=2, zorder=1)
        ax.plot(values[:, 0], rows, "o", color="black", markerfacecolor="white", label="first")
        ax.plot(values[:, 1], rows, "o", color="black", label="second")
        ax.axvline(0.0, color=NEITHER, linewidth=0.8)
        ax.set_yticks(rows, [label(player) for player in self.players[:top]], **PLAIN)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        describe_values(ax, self.first.quantity, self.first.unit)
        ax.legend(frameon=False)
        without_frame(ax, "top", "right", "left")
        return ax

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence}>"

    def _repr_html_(self) -> str:
        rows = list(zip(*(list(column)[:_SHOWN] for column in self.columns.values()), strict=True))
        return table_html(self.sentence, list(self.columns), [[*map(_plain, row)] for row in rows])


@dataclass(frozen=True, eq=False)
class StoreComparison:
    """Two stores side by side, a row per target; those first whose decision changed, then by the change."""

    first: Store
    second: Store
    columns: dict[str, list[Any]]  # target, status, before, after, p_before, p_after, change, sentence

    @property
    def counts(self) -> dict[str, int]:
        """How many targets are "new", "gone", "flipped", "changed" and "same"."""
        found = dict.fromkeys(_STATUSES, 0)
        for status in self.columns["status"]:
            found[status] += 1
        return found

    @property
    def sentence(self) -> str:
        """What changed in plain words."""
        counts = self.counts
        words = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
        flipped = [
            _name(t) for t, s in zip(self.columns["target"], self.columns["status"], strict=True) if s == "flipped"
        ]
        named = f" Decided otherwise now: {', '.join(flipped[:_NAMED])}" if flipped else ""
        more = f" and {len(flipped) - _NAMED:,} more" if len(flipped) > _NAMED else ""
        return f"Of {sum(counts.values()):,} targets: {words or 'nothing'}.{named}{more}{'.' if flipped else ''}"

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per target."""
        return make_frame(self.columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]
        for row in rows:
            row |= {
                key: None if row[key] is None else name_to_json(row[key]) for key in ("target", "before", "after")
            }
        return {
            "schema": 1,
            "kind": "store_comparison",
            "sentence": self.sentence,
            "counts": self.counts,
            "targets": rows,
        }

    def __repr__(self) -> str:
        return f"<StoreComparison: {self.sentence}>"

    def _repr_html_(self) -> str:
        rows = [row[:-1] for row in zip(*(column[:_SHOWN] for column in self.columns.values()), strict=True)]
        return table_html(self.sentence, list(self.columns)[:-1], rows)


_STATUSES = ("flipped", "changed", "new", "gone", "same")


@overload
def compare(first: Explanation[Any], second: Explanation[Any]) -> Comparison: ...
@overload
def compare(first: Store, second: Store) -> StoreComparison: ...
def compare(first: Any, second: Any) -> Comparison | StoreComparison:
    """What changed between two explanations (two targets, dates, settings), or between two stores.

    Raises
    ------
    InputError
        They are not two of a kind, or their values are in different units.

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("x", "a"), ("x", "b")], homophily=0.9, states=["good", "bad"])
    >>> monday, friday = (
    ...     kp.GraphShapley(mrf.observe(seen)).explain("x") for seen in ({"a": "good"}, {"a": "good", "b": "bad"})
    ... )
    >>> print(kp.compare(monday, friday).sentence)
    x: good (0.9) -> good (0.5). Changed most: b (0 -> -2.2).
    """
    if isinstance(first, Store) and isinstance(second, Store):
        return _compare_stores(first, second)
    if not (isinstance(first, Explanation) and isinstance(second, Explanation)):
        raise InputError(
            f"compare takes two explanations or two stores, got {type(first).__name__} and {type(second).__name__}"
        )
    if first.unit != second.unit:
        raise InputError(f"values in {first.unit} and in {second.unit} cannot be compared")
    players = tuple(dict.fromkeys((*first.players, *second.players)))
    values, errors = (
        np.column_stack(pair) for pair in zip(_aligned(first, players), _aligned(second, players), strict=True)
    )
    known = np.nan_to_num(values)
    order = np.argsort(-np.abs(known[:, 1] - known[:, 0]), kind="stable")
    return Comparison(first, second, tuple(players[i] for i in order), values[order], errors[order])


def _aligned(found: Explanation[Any], players: tuple[Hashable, ...]) -> tuple[Floats, Floats]:
    """Values and how far they may be off, in the order of `players`."""
    place = {player: i for i, player in enumerate(found.players)}
    positions = [place.get(player, -1) for player in players]
    unsure = getattr(found, "uncertainties", found.std_errors)
    values, errors = np.append(found.values, np.nan), np.append(unsure, np.nan)
    return values[positions], errors[positions]


def decision(found: Explanation[Any]) -> Decision:
    """What is believed or predicted, and with what probability, where the method says so."""
    belief = getattr(found, "belief", None)
    if belief is not None:
        best = int(belief.argmax())
        return Decision(found.states[best], float(belief[best]))
    if hasattr(found, "predicted"):
        return Decision(found.predicted, float(found.p_target) if found.predicted == found.target else None)
    return Decision(None, None)


def _decisions(first: Explanation[Any], second: Explanation[Any]) -> str:
    words = []
    for found in (first, second):
        state, p = decision(found)
        words.append(f"{_name(state)}" + ("" if p is None else f" ({p:.3g})"))
    if first.target == second.target:
        return f"{_name(first.target)}: {words[0]} -> {words[1]}."
    return f"{_name(first.target)}: {words[0]}; {_name(second.target)}: {words[1]}."


def _compare_stores(first: Store, second: Store) -> StoreComparison:
    rows = [_target_row(first, second, target) for target in dict.fromkeys((*first, *second))]
    rows.sort(key=lambda row: (_STATUSES.index(row["status"]), -row["change"]))
    columns = ("target", "status", "before", "after", "p_before", "p_after", "change", "sentence")
    return StoreComparison(first, second, {name: [row[name] for row in rows] for name in columns})


def _target_row(first: Store, second: Store, target: Hashable) -> dict[str, Any]:
    pair = [store.get(target) for store in (first, second)]
    before, after = (Decision(None, None) if found is None else decision(found) for found in pair)
    row = {"target": target, "before": before.state, "after": after.state}
    row |= {"p_before": before.probability, "p_after": after.probability}
    if pair[0] is None or pair[1] is None:
        return row | {"status": "new" if pair[0] is None else "gone", "change": 0.0, "sentence": ""}
    found = compare(pair[0], pair[1])
    status = "flipped" if before.state != after.state else "changed" if found.differs.any() else "same"
    return row | {"status": status, "change": float(np.abs(found.changes).sum()), "sentence": found.sentence}


def _name(name: Any) -> str:
    return shortened(str(name), _LONGEST)


def _plain(entry: Any) -> Any:
    return entry.item() if isinstance(entry, np.generic) else entry
