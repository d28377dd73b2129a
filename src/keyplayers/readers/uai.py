"""Files of the UAI inference competitions: Markov and Bayesian networks, evidence, and marginals.

Variables are called 0 .. N-1, so are their states. The last variable of a table runs fastest; in a Bayesian
network it is the one whose conditional distribution the table is. https://uaicompetition.github.io/uci-2022/file-formats
"""

import math
from collections.abc import Sequence

import numpy as np

from .._base.atomic import replacing
from .._base.names import Names
from ..mrf.build.factors import Factor, LogFactor
from ..mrf.factors import factors_of
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from .texts import Words, make_field, read_text, refuse_options

KINDS = ("MARKOV", "BAYES")


def read_field(path: str, **options: object) -> MarkovRandomField:
    """A Markov or Bayesian network; see `read_mrf`."""
    refuse_options(path, options)
    words = Words(path, read_text(path))
    kind = words.word("MARKOV or BAYES").upper()
    if kind not in KINDS:
        words.fail(f"a UAI network begins with MARKOV or BAYES, got {kind[:20]!r}")
    n = words.integer("the number of variables")
    counts = [words.integer(f"the number of states of variable {v}", least=1) for v in range(n)]
    scopes = [_scope(words, i, n) for i in range(words.integer("the number of factors"))]
    factors = [_factor(words, i, scope, counts, kind) for i, scope in enumerate(scopes)]
    words.end()
    return make_field(path, Names(range(n)), counts, factors)


def _scope(words: Words, i: int, n: int) -> tuple[int, ...]:
    size = words.integer(f"the number of variables of factor {i}")
    scope = tuple(words.integer(f"a variable of factor {i}", below=n) for _ in range(min(size, words.left + 1)))
    if len(set(scope)) < len(scope):
        words.fail(f"factor {i} has a variable twice: {scope}")
    if len(scope) > _MAX_AXES:
        words.fail(f"factor {i} has {len(scope)} variables; a table has at most {_MAX_AXES} axes")
    return scope


# axes of a table
_MAX_AXES = 32


def _factor(words: Words, i: int, scope: Sequence[int], counts: Sequence[int], kind: str) -> LogFactor:
    what = f"factor {i}"
    shape = [counts[v] for v in scope]
    size = words.integer(f"the size of the table of {what}")
    if size != math.prod(shape):
        sizes = "×".join(map(str, shape)) or "1"
        words.fail(f"the table of {what} should have {sizes} = {math.prod(shape):,} entries, not {size:,}")
    table = words.numbers(size, f"the table of {what}").reshape(shape)
    name = None
    if kind == "BAYES" and len(scope) > 1:
        name = f"P({scope[-1]} | {', '.join(map(str, scope[:-1]))})"
    return LogFactor(tuple(scope), words.log_table(table, what), name)


def read_evidence(path: str, mrf: MarkovRandomField) -> dict[object, object]:
    """Observed states by variable, from an evidence file.

    Raises
    ------
    FileFormatError
        It speaks of a variable or a state that the network lacks, or has several samples.
    """
    words = Words(path, read_text(path))
    first = words.integer("the number of observed variables") if words.left else 0
    if first == 1 and words.left == 2 * int(words.peek() if words.peek().isdigit() else -1) + 1:
        first = words.integer("the number of observed variables")  # after the number of samples
    elif words.left != 2 * first:
        words.fail(
            f"expected {first} pairs of a variable and its state, but {words.left} numbers follow; "
            "files with several samples are not read: give one of them"
        )
    found: dict[object, object] = {}
    names = mrf.variables
    for _ in range(first):
        name = names[words.integer("an observed variable", below=len(names))]
        states = mrf.states(name)
        state = states[words.integer(f"the state of variable {name!r}", below=len(states))]
        if found.setdefault(name, state) != state:
            words.fail(f"variable {name!r} is observed as {found[name]!r} and as {state!r}")
    return found


def write_marginals(state: BeliefState, path: str) -> None:
    """Write beliefs in the format of the competition's solutions (.MAR)."""
    rows = [f"{len(row)} {' '.join(map(repr, row.tolist()))}" for row in map(np.asarray, state.beliefs)]
    with replacing(path) as part:
        part.write_text(f"MAR\n{' '.join([str(len(rows)), *rows])}\n", encoding="utf-8")


def write_field(mrf: MarkovRandomField, path: str) -> None:
    """Write a field as a Markov network. Names are not kept: variables are numbered in their order."""
    position = {name: v for v, name in enumerate(mrf.variables)}
    factors = factors_of(mrf)
    lines = [
        "MARKOV",
        str(len(position)),
        " ".join(str(int(k)) for k in mrf.n_states[mrf.real]),
        str(len(factors)),
    ]
    lines += [" ".join(map(str, [len(f.variables), *(position[name] for name in f.variables)])) for f in factors]
    for factor in factors:
        lines += ["", str(np.size(factor.table)), _numbers(factor)]
    with replacing(path) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _numbers(factor: Factor) -> str:
    return " ".join(map(repr, np.ravel(factor.table).tolist()))
