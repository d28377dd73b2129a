"""Bayesian networks in the Bayesian Interchange Format (.bif)."""

import itertools
import math
import re

import numpy as np

from .._base.arrays import Floats
from .._base.atomic import replacing
from ..mrf.field import MarkovRandomField
from .bayes import Conditional, Network, conditionals, texts
from .texts import Words, read_text, refuse_options

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\bproperty\b[^;]*;", re.DOTALL)
# a quoted name, a punctuation mark, or anything else between blanks and punctuation
_TOKEN = r'"[^"\n]*"|[{}()\[\]|,;]|[^\s{}()\[\]|,;"]+'
_PLAIN = re.compile(r'[^\s{}()\[\]|,;"]+')


def read_field(path: str, **options: object) -> MarkovRandomField:
    """A network; see `read_mrf`."""
    refuse_options(path, options)
    # comments give way to the line breaks that they hold, so that lines are counted as they are
    text = _COMMENT.sub(lambda found: "\n" * found.group().count("\n") + " ", read_text(path))
    words = Words(path, text, _TOKEN)
    network = Network()
    while words.left:
        kind = words.word("a block")
        if kind == "network":
            _network(words)
        elif kind == "variable":
            _variable(words, network)
        elif kind == "probability":
            _probability(words, network)
        else:
            words.fail(f"expected network, variable or probability, got {kind[:40]!r}")
    return network.to_field(path)


def _expect(words: Words, *wanted: str) -> str:
    found = words.word(" or ".join(map(repr, wanted)))
    if found not in wanted:
        words.fail(f"expected {' or '.join(map(repr, wanted))}, got {found[:40]!r}")
    return found


def _name(words: Words, what: str) -> str:
    found = words.word(what)
    if found in "{}()[]|,;":
        words.fail(f"expected {what}, got {found!r}")
    return found.strip('"')


def _list(words: Words, what: str, end: str) -> list[str]:
    """Names between commas (or blanks), up to a mark."""
    names: list[str] = []
    while words.peek() != end:
        names.append(_name(words, what))
        if words.peek() == ",":
            words.word(",")
    words.word(end)
    return names


def _network(words: Words) -> None:
    while words.peek() != "{":
        words.word("the name of the network")
    words.word("{")
    _expect(words, "}")


def _variable(words: Words, network: Network) -> None:
    name = _name(words, "the name of a variable")
    if name in network.states:
        words.fail(f"variable {name!r} is declared twice")
    for wanted in ("{", "type", "discrete", "["):
        _expect(words, wanted)
    n = words.integer(f"the number of states of {name!r}", least=1)
    _expect(words, "]")
    _expect(words, "{")
    states = _list(words, f"a state of {name!r}", "}")
    if len(states) != n or len(set(states)) < n:
        words.fail(f"variable {name!r} should have {n} distinct states, got {', '.join(states[:10])}")
    _expect(words, ";")
    _expect(words, "}")
    network.states[name] = tuple(states)


def _probability(words: Words, network: Network) -> None:
    _expect(words, "(")
    variable = _known(words, network)
    parents: list[str] = []
    while words.peek() in ("|", ","):
        words.word("|")
        parents.append(_known(words, network))
    _expect(words, ")")
    if variable in network.told or len({variable, *parents}) < 1 + len(parents) or len(parents) > 31:
        words.fail(f"the probability of {variable!r} is told twice, or has a parent twice, or more than 31")
    table = _table(words, network, variable, parents)
    network.add(variable, parents, words.log_table(table, f"P({variable} | ..)"))


def _known(words: Words, network: Network) -> str:
    name = _name(words, "the name of a variable")
    if name not in network.states:
        words.fail(f"variable {name!r} was not declared")
    return name


def _table(words: Words, network: Network, variable: str, parents: list[str]) -> Floats:
    """[K_parent, .., K_variable] from the rows of a block."""
    n, shape = len(network.states[variable]), network.shape(parents)
    size = math.prod(shape)
    what = f"P({variable} | ..)"
    _expect(words, "{")
    if size > words.left:
        words.fail(f"{what} needs {size:,} rows, more than the file has")
    table = np.full((*shape, n), np.nan)
    default = None
    while (kind := _expect(words, "(", "table", "default", "}")) != "}":
        if kind == "table":
            # the variable first, its last parent runs fastest
            table[...] = np.moveaxis(_numbers(words, n * size, what).reshape([n, *shape]), 0, -1)
        elif kind == "default":
            default = _numbers(words, n, what)
        else:
            row = _row(words, network, parents)
            table[row] = _numbers(words, n, what)
    missing = np.isnan(table).any(axis=-1)
    if default is not None:
        table[missing] = default
    elif missing.any():
        words.fail(f"{what} has no row for {int(missing.sum()):,} of {size:,} combinations of its parents' states")
    return table


def _row(words: Words, network: Network, parents: list[str]) -> tuple[int, ...]:
    given = _list(words, "a state", ")")
    if len(given) != len(parents):
        words.fail(f"a row needs the states of {len(parents)} parents, got {', '.join(given[:10])}")
    for parent, state in zip(parents, given, strict=True):
        if state not in network.states[parent]:
            words.fail(f"{parent!r} has no state {state!r}; it has {', '.join(network.states[parent])}")
    return tuple(network.states[parent].index(state) for parent, state in zip(parents, given, strict=True))


def _numbers(words: Words, n: int, what: str) -> Floats:
    """Numbers between commas, up to a semicolon."""
    given = _list(words, "a number", ";")
    if len(given) != n:
        words.fail(f"{what} needs {n:,} numbers here, got {len(given):,}")
    try:
        return np.array(given, dtype=np.float64)
    except ValueError as error:
        words.fail(f"{what}: {error}")


def write_field(mrf: MarkovRandomField, path: str) -> None:
    """Write a field that is a Bayesian network.

    Raises
    ------
    InputError
        It is none, or names would read the same.
    """
    found = conditionals(mrf)
    names = dict(zip(mrf.variables, texts(list(mrf.variables), "variables"), strict=True))
    states = {name: texts(mrf.states(name), f"the states of {name!r}") for name in names}
    lines = ["network keyplayers {", "}"]
    for name, text in names.items():
        own = ", ".join(map(_quoted, states[name]))
        lines += [f"variable {_quoted(text)} {{", f"  type discrete [ {len(states[name])} ] {{ {own} }};", "}"]
    for conditional in found:
        lines += _block(conditional, names, states)
    with replacing(path) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _block(conditional: Conditional, names: dict[object, str], states: dict[object, list[str]]) -> list[str]:
    own, parents = _quoted(names[conditional.variable]), [_quoted(names[parent]) for parent in conditional.parents]
    if not parents:
        numbers = ", ".join(map(repr, conditional.table.tolist()))
        return [f"probability ( {own} ) {{", f"  table {numbers};", "}"]
    rows = []
    for given in itertools.product(*(enumerate(states[parent]) for parent in conditional.parents)):
        numbers = ", ".join(map(repr, conditional.table[tuple(i for i, _ in given)].tolist()))
        rows.append(f"  ({', '.join(_quoted(state) for _, state in given)}) {numbers};")
    return [f"probability ( {own} | {', '.join(parents)} ) {{", *rows, "}"]


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else '"' + text.replace('"', "'").replace("\n", " ") + '"'
