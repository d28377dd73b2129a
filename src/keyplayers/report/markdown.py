"""An explanation as Markdown, for a ticket, a wiki or a mail."""

import re
from typing import Any

from .._base.printable import shortened
from ..explanation import Explanation
from .data import page_data
from .limits import Limits

# what Markdown, or the HTML that it may hold, would take for more than a letter
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&!])")
_LIMITS = Limits(nodes=20, letters=80, sentence=3_000, seconds=0.0, text=0, pixels=1)


def to_markdown(found: Explanation[Any]) -> str:
    """Sentence, warnings, the most important players, and how to read all that."""
    data = page_data(found.structure, found, _LIMITS)
    facts = data["facts"]
    lines = [f"# {_heading(data)}", "", _plain(data["sentence"]), ""]
    lines += [f"> **{_plain(title)}.** {_plain(text)}\n" for title, text, level in facts if level == "warning"]
    if "belief" in data:
        lines += _table(["state", "belief"], zip(data["states"], data["belief"], strict=True))
    lines += [*_players(data), "## How to read this", ""]
    lines += [f"- **{_plain(title)}.** {_plain(text)}" for title, text, level in facts if level == "note"]
    lines += [
        "",
        "## Settings",
        "",
        ", ".join(f"{_plain(key)} {_plain(value)}" for key, value in data["settings"]),
    ]
    return "\n".join(lines) + "\n"


def _heading(data: dict[str, Any]) -> str:
    heading = f"{data['opening']} {data['about']}"
    if "states" in data:
        heading += f" is believed to be {data['states'][data['asked']]}"
    return _plain(heading)


# title of a column -> the column of the data that it shows
_COLUMNS = {
    "player": "name",
    "equal": "count",
    "value": "value",
    "±": "error",
    "by its prior": "prior",
    "by its edges": "edges",
    "hops": "hops",
    "was": "instance",
    "masked to": "masked",
}


def _players(data: dict[str, Any]) -> list[str]:
    nodes = data["nodes"]
    shown = {title: key for title, key in _COLUMNS.items() if key in nodes}
    n_shown = sum(nodes.get("count", [1] * len(nodes["name"])))
    more = "" if n_shown == data["n_players"] else f" ({n_shown:,} of {data['n_players']:,})"
    rows = zip(*(nodes[key] for key in shown.values()), strict=True)
    unit = f"Values: {_plain(data['quantity'])}, in {_plain(data['unit'])}."
    return [f"## Key players{more}", "", unit, "", *_table(list(shown), rows)]


def _table(heads: list[str], rows: Any) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    return [*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows), ""]


def _cell(value: Any) -> str:
    return "" if value is None else _plain(value)


def _plain(text: Any) -> str:
    return _SPECIAL.sub(r"\\\1", shortened(str(text), 3_000))
