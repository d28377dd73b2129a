"""Factor graphs of libDAI (.fg): factors one after the other, the first variable of a table runs fastest.

Variables are called by their labels, which are integers.
"""

import math
import re

import numpy as np

from .._base.atomic import replacing
from .._base.names import Names
from ..mrf.build.factors import LogFactor
from ..mrf.factors import factors_of
from ..mrf.field import MarkovRandomField
from .texts import Words, make_field, read_text, refuse_options

_COMMENT = re.compile(r"#[^\n]*")
# entries of the largest table that a factor may be asked to have, most of which may be 0
_MAX_TABLE = 2**26
_MAX_AXES = 32


def read_field(path: str, **options: object) -> MarkovRandomField:
    """A factor graph; see `read_mrf`."""
    refuse_options(path, options)
    words = Words(path, _COMMENT.sub("", read_text(path)))
    counts: dict[int, int] = {}
    found = [_factor(words, i, counts) for i in range(words.integer("the number of factors"))]
    words.end()
    labels = sorted(counts)
    numbered = labels == list(range(len(labels)))
    position = {label: v for v, label in enumerate(labels)}
    factors = [factor._replace(variables=tuple(position[v] for v in factor.variables)) for factor in found]
    names = Names(range(len(labels)) if numbered else labels)
    return make_field(path, names, [counts[label] for label in labels], factors)


def _factor(words: Words, i: int, counts: dict[int, int]) -> LogFactor:
    """One factor over labels. Writes: counts, states by label."""
    what = f"factor {i}"
    n = words.integer(f"the number of variables of {what}", below=_MAX_AXES + 1)
    labels = [words.integer(f"a variable of {what}") for _ in range(n)]
    if len(set(labels)) < n:
        words.fail(f"{what} has a variable twice: {labels}")
    shape = [words.integer(f"a number of states of {what}", least=1) for _ in range(n)]
    for label, count in zip(labels, shape, strict=True):
        if counts.setdefault(label, count) != count:
            words.fail(f"variable {label} has {count} states in {what}, but {counts[label]} before")
    size = math.prod(shape)
    n_entries = words.integer(f"the number of entries of {what}", below=size + 1)
    if size > _MAX_TABLE or 2 * n_entries > words.left:
        words.fail(f"{what} has a table of {size:,} numbers and {n_entries:,} entries: more than the file holds")
    listed = words.numbers(2 * n_entries, what).reshape(-1, 2)
    index = listed[:, 0]
    if (index != np.floor(index)).any() or (index < 0).any() or (index >= size).any():
        words.fail(f"{what}: places in its table must be integers from 0 to {size - 1}")
    table = np.zeros(size)
    table[index.astype(np.int64)] = listed[:, 1]
    return LogFactor(tuple(labels), words.log_table(table.reshape(shape, order="F"), what))


def write_field(mrf: MarkovRandomField, path: str) -> None:
    """Write a field as a factor graph. Names that are no integers are not kept: variables are numbered then."""
    names = mrf.variables
    keeps = all(type(name) is int and name >= 0 for name in names)
    label = {name: name if keeps else v for v, name in enumerate(names)}
    uniform = [name for name in names if not mrf.log_prior(name).any()]
    factors = [(f.variables, np.asarray(f.table)) for f in factors_of(mrf)]
    factors += [((name,), np.ones(len(mrf.states(name)))) for name in uniform]  # so that none is lost
    lines = [str(len(factors))]
    for variables, table in factors:
        flat = table.ravel(order="F").tolist()
        entries = [f"{i} {number!r}" for i, number in enumerate(flat) if number]
        labels, sizes = " ".join(str(label[name]) for name in variables), " ".join(map(str, table.shape))
        lines += ["", str(len(variables)), labels, sizes, str(len(entries)), *entries]
    with replacing(path) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
