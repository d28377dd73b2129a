"""Bayesian networks in XMLBIF 0.3 (.xmlbif, .bifxml, .xml)."""

import math
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from .._base.arrays import Floats
from .._base.atomic import replacing
from ..errors import FileFormatError, InputError
from ..mrf.build.factors import log_table
from ..mrf.field import MarkovRandomField
from .bayes import Conditional, Network, conditionals, texts
from .texts import read_bytes, refuse_options


@dataclass
class _Element:
    """An element of the file, with its line."""

    tag: str
    line: int
    children: list["_Element"] = field(default_factory=list)
    text: str = ""

    def texts(self, tag: str) -> list[str]:
        """What the children of some tag say."""
        return [child.text.strip() for child in self.children if child.tag == tag]


def read_field(path: str, **options: object) -> MarkovRandomField:
    """A network; see `read_mrf`."""
    refuse_options(path, options)
    elements = _parse(path)
    network = Network()
    for element in elements:
        if element.tag == "VARIABLE":
            _variable(path, element, network)
    for element in elements:
        if element.tag in ("DEFINITION", "PROBABILITY"):
            _definition(path, element, network)
    if not network.states:
        raise FileFormatError(f"{path}: no <VARIABLE> is declared: this is no XMLBIF")
    return network.to_field(path)


def _parse(path: str) -> list[_Element]:
    """All elements, outer ones first."""
    parser = expat.ParserCreate()
    found: list[_Element] = []
    open_ones: list[_Element] = []

    def start(tag: str, attributes: Any) -> None:
        element = _Element(tag.upper(), parser.CurrentLineNumber)
        if open_ones:
            open_ones[-1].children.append(element)
        open_ones.append(element)
        found.append(element)

    def text(data: str) -> None:
        if open_ones:
            open_ones[-1].text += data

    def entity(*declared: Any) -> None:
        _fail(path, parser.CurrentLineNumber, "entities are not read: write out what they stand for")

    parser.StartElementHandler, parser.EndElementHandler = start, lambda tag: open_ones.pop()
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, entity
    parser.buffer_text = True
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as error:
        _fail(path, error.lineno, expat.errors.messages[error.code])
    return found


def _fail(path: str, line: int, message: str) -> NoReturn:
    raise FileFormatError(f"{path}: line {line}: {message}")


def _variable(path: str, element: _Element, network: Network) -> None:
    names, states = element.texts("NAME"), element.texts("OUTCOME") or element.texts("VALUE")
    if len(names) != 1 or names[0] in network.states:
        _fail(path, element.line, f"a <VARIABLE> needs one <NAME> that no other has, got {names}")
    if not states or len(set(states)) < len(states):
        _fail(path, element.line, f"variable {names[0]!r} needs distinct <OUTCOME>s, got {states[:10]}")
    network.states[names[0]] = tuple(states)


def _definition(path: str, element: _Element, network: Network) -> None:
    variables, parents = element.texts("FOR"), element.texts("GIVEN")
    unknown = [name for name in (*variables, *parents) if name not in network.states]
    if len(variables) != 1 or unknown:
        _fail(
            path,
            element.line,
            f"a <DEFINITION> is <FOR> one variable given declared ones, got {unknown or variables}",
        )
    (variable,) = variables
    if variable in network.told or len({variable, *parents}) < 1 + len(parents) or len(parents) > 31:
        told = f"P({variable} | ..) is told twice, or has a parent twice, or more than 31"
        _fail(path, element.line, told)
    numbers = _numbers(path, element)
    shape = network.shape([*parents, variable])
    if numbers.size != math.prod(shape):
        _fail(path, element.line, f"P({variable} | ..) needs {math.prod(shape):,} numbers, got {numbers.size:,}")
    try:
        logs = log_table(numbers.reshape(shape), f"P({variable} | ..)")
    except InputError as error:
        _fail(path, element.line, str(error))
    network.add(variable, parents, logs)


def _numbers(path: str, element: _Element) -> Floats:
    tables = [child for child in element.children if child.tag == "TABLE"]
    if len(tables) != 1:
        _fail(path, element.line, f"a <DEFINITION> needs one <TABLE>, got {len(tables)}")
    try:
        return np.array(tables[0].text.split(), dtype=np.float64)
    except ValueError as error:
        _fail(path, tables[0].line, str(error))


def write_field(mrf: MarkovRandomField, path: str) -> None:
    """Write a field that is a Bayesian network.

    Raises
    ------
    InputError
        It is none, or names would read the same.
    """
    found = conditionals(mrf)
    names = dict(zip(mrf.variables, texts(list(mrf.variables), "variables"), strict=True))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        "<NAME>keyplayers</NAME>",
    ]
    for name, text in names.items():
        lines += ['<VARIABLE TYPE="nature">', _tag("NAME", text)]
        lines += [_tag("OUTCOME", state) for state in texts(mrf.states(name), f"the states of {name!r}")]
        lines.append("</VARIABLE>")
    for conditional in found:
        lines += _definition_lines(conditional, names)
    lines += ["</NETWORK>", "</BIF>"]
    with replacing(path) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _definition_lines(conditional: Conditional, names: dict[Any, str]) -> list[str]:
    given = [_tag("GIVEN", names[parent]) for parent in conditional.parents]
    numbers = " ".join(map(repr, conditional.table.ravel().tolist()))
    return [
        "<DEFINITION>",
        _tag("FOR", names[conditional.variable]),
        *given,
        _tag("TABLE", numbers),
        "</DEFINITION>",
    ]


def _tag(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>"
