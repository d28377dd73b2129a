"""Small tables for notebooks. Whatever comes from data is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .printable import shortened

# letters of a cell
_LONGEST = 120
_ROUNDING = 1e-12


def table_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()) -> str:
    """A title, a table and lines below it; numbers are set right."""
    head = "".join(f"<th style='text-align:left'>{_cell(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(_data(entry) for entry in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if heads else ""
    below = "".join(f"<p style='margin:2px 0;opacity:.75'>{_cell(note, 2_000)}</p>" for note in notes)
    return f"<div><p style='margin:2px 0'><b>{_cell(title, 2_000)}</b></p>{table}{below}</div>"


def _data(entry: Any) -> str:
    right = isinstance(entry, int | float) and not isinstance(entry, bool)
    return f"<td style='text-align:{'right' if right else 'left'}'>{_cell(entry)}</td>"


def _cell(entry: Any, longest: int = _LONGEST) -> str:
    if isinstance(entry, float):
        entry = "0" if abs(entry) < _ROUNDING else f"{entry:.4g}"
    text = "" if entry is None else str(entry)
    return escape(shortened(text, longest))
