"""How long, branched and entangled the functions of a source folder are, by `ast` alone.

    python tests/architecture/measures.py [SRC]                     # default: the source of this checkout
    python tests/architecture/measures.py SRC --old OLD_SRC         # before and after, side by side
    python tests/architecture/measures.py SRC --worst               # with the worst offenders of each measure

A kernel is a function of a file called ``_*kernels.py``. All functions and methods count, nested ones too, once by
themselves and once as a part of the function around them. p90: nine in ten are not above it.

length
    Lines of a function outside kernels from ``def`` to its end, decorators and the docstring left out.
branched
    Share of functions outside kernels whose cyclomatic complexity (McCabe 1976) is above 10: one, and one more for
    each if, elif, conditional expression, loop, except, case, for and if of a comprehension, and each and/or.
nodes
    Syntax nodes of a function without its docstring, kernels included.
long calls
    Calls outside kernels with more than 8 positional arguments, other than of a class (a record is made with one
    argument per field). What stands behind a star counts as many as the function called has room for, if it is one
    of the package.
handed on
    Share of parameters outside kernels (without self and cls) that are used, but only as bare arguments of calls:
    whoever reads the function learns nothing of them.
circles
    Groups of files that import each other in a circle, whether at the top or within a function; imports for type
    checkers do not count.
"""

import argparse
import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
MAX_COMPLEXITY = 10
MAX_POSITIONAL = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)


@dataclass(frozen=True)
class Found:
    """A measured thing and where it stands."""

    size: float
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.size:6g}  {self.file}:{self.line} {self.what}"


@dataclass(frozen=True)
class Measure:
    """One number about a package, and what makes it large."""

    title: str
    value: float
    unit: str
    worst: list[Found]

    def __str__(self) -> str:
        number = f"{self.value:.1f}" if self.unit == "%" else f"{self.value:.0f}"
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True)
class Package:
    """The parsed files of a package."""

    root: Path  # folder of the package
    trees: dict[Path, ast.Module] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Path) -> "Package":
        """The one package in `source`."""
        (root,) = {init.parent for init in source.glob("*/__init__.py")}
        files = sorted(root.rglob("*.py"))
        return cls(root, {file: ast.parse(file.read_text("utf-8")) for file in files})

    @cached_property
    def functions(self) -> list[tuple[Path, Function]]:
        """All functions and methods with their files."""
        return [(file, node) for file, tree in self.trees.items() for node in ast.walk(tree) if is_function(node)]

    @cached_property
    def plain_functions(self) -> list[tuple[Path, Function]]:
        """Those that are no kernels."""
        return [(file, function) for file, function in self.functions if not is_kernel_file(file)]

    def found(self, size: float, file: Path, node: ast.AST, what: str) -> Found:
        return Found(size, file.relative_to(self.root.parent).as_posix(), getattr(node, "lineno", 1), what)


def is_function(node: ast.AST) -> bool:
    return isinstance(node, Function)


def is_kernel_file(file: Path) -> bool:
    return file.name.startswith("_") and file.stem.endswith("kernels")


def measure(source: Path) -> dict[str, Measure]:
    """All measures of the package in `source`."""
    package = Package.read(source)
    lengths = _each(package, package.plain_functions, length)
    complexities = _each(package, package.plain_functions, complexity)
    nodes = _each(package, package.functions, count_nodes)
    branched = [each for each in complexities if each.size > MAX_COMPLEXITY]
    calls = sorted(long_calls(package), key=lambda each: -each.size)
    handed_on, n_parameters = parameters_handed_on(package)
    circles = [
        Found(len(circle), "", 0, ", ".join(sorted(circle)))
        for circle in strongly_connected(import_graph(package))
    ]
    return {
        "length": Measure("length of a function, p90", p90(lengths), "lines", lengths),
        "branched": Measure("complexity above 10", 100 * len(branched) / len(complexities), "%", branched),
        "nodes": Measure("syntax nodes of a function, p90, kernels too", p90(nodes), "", nodes),
        "long calls": Measure("calls with more than 8 positional arguments", len(calls), "", calls),
        "handed on": Measure(
            "parameters only handed on",
            100 * sum(each.size for each in handed_on) / max(1, n_parameters),
            "%",
            handed_on,
        ),
        "circles": Measure("circles of files", len(circles), "", circles),
    }


def _each(
    package: Package, functions: list[tuple[Path, Function]], size: Callable[[Function], int]
) -> list[Found]:
    """The functions with their sizes, the largest first."""
    found = [package.found(size(function), file, function, function.name) for file, function in functions]
    return sorted(found, key=lambda each: -each.size)


def p90(found: list[Found]) -> float:
    """The size that nine in ten do not exceed."""
    return sorted(each.size for each in found)[int(0.9 * len(found))]


def body(function: Function) -> list[ast.stmt]:
    """What stands below the docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def length(function: Function) -> int:
    """Lines without decorators and docstring."""
    whole = (function.end_lineno or 0) - function.lineno + 1
    said = function.body[0]
    return whole - (0 if said in body(function) else (said.end_lineno or 0) - said.lineno + 1)


def complexity(function: Function) -> int:
    """Independent ways through a function; those of functions in it included."""
    ways = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            ways += 1
        elif isinstance(node, ast.comprehension):
            ways += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            ways += len(node.values) - 1
    return ways


def count_nodes(function: Function) -> int:
    """Syntax nodes below the docstring."""
    return sum(1 for statement in body(function) for _ in ast.walk(statement))


def long_calls(package: Package) -> Iterator[Found]:
    """Calls with many positional arguments."""
    room = {
        (file, node.name): len(node.args.posonlyargs + node.args.args)
        for file, tree in package.trees.items()
        for node in tree.body
        if isinstance(node, Function)
    }
    for file, tree in package.trees.items():
        if is_kernel_file(file):
            continue
        homes = _imported_names(package, file, tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _makes_a_record(node):
                continue
            n_given = len(node.args)
            if any(isinstance(argument, ast.Starred) for argument in node.args):
                n_given = max(n_given, room.get(_callee(node, file, homes), 0) - len(node.keywords))
            if n_given > MAX_POSITIONAL:
                yield package.found(n_given, file, node, ast.unparse(node.func))


def _makes_a_record(call: ast.Call) -> bool:
    name = ast.unparse(call.func).split(".")[-1].lstrip("_")
    return name == "cls" or name[:1].isupper()


def _callee(call: ast.Call, file: Path, homes: dict[str, tuple[Path, str]]) -> tuple[Path, str]:
    """File and name of the function that is called, as far as names tell."""
    function = call.func
    if isinstance(function, ast.Name):
        return homes.get(function.id, (file, function.id))
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module, _ = homes.get(function.value.id, (file, ""))
        return module, function.attr
    return file, ""


def _imported_names(package: Package, file: Path, tree: ast.Module) -> dict[str, tuple[Path, str]]:
    """Name in this file -> (file of the package, name there; empty where the name is the file itself)."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                home, name = _home(package, file, node, alias.name)
                if home is not None:
                    names[alias.asname or alias.name] = home, name
    return names


def _home(package: Package, file: Path, node: ast.ImportFrom, name: str) -> tuple[Path | None, str]:
    """Where ``from X import name`` leads: a file of the package and the name in it, if any."""
    if node.level:
        folder = file.parents[node.level - 1]
    elif (node.module or "").split(".")[0] == package.root.name:
        folder = package.root.parent
    else:
        return None, ""
    at = folder.joinpath(*(node.module or "").split(".")) if node.module else folder
    for path, rest in (
        (at / f"{name}.py", ""),
        (at / name / "__init__.py", ""),
        (at.with_suffix(".py"), name),
        (at / "__init__.py", name),
    ):
        if path in package.trees:
            return path, rest
    return None, ""


def parameters_handed_on(package: Package) -> tuple[list[Found], int]:
    """Functions with parameters that they only hand on, and how many parameters there are in all."""
    found: list[Found] = []
    n_parameters = 0
    for file, function in package.plain_functions:
        given = function.args
        names = [a.arg for a in given.posonlyargs + given.args + given.kwonlyargs if a.arg not in ("self", "cls")]
        n_parameters += len(names)
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        handed = {id(a) for call in calls for a in [*call.args, *(keyword.value for keyword in call.keywords)]}
        uses: dict[str, list[bool]] = {name: [] for name in names}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in uses:
                uses[node.id].append(id(node) in handed)
        only = [name for name in names if uses[name] and all(uses[name])]
        if only:
            found.append(package.found(len(only), file, function, f"{function.name}: {', '.join(only)}"))
    return sorted(found, key=lambda each: -each.size), n_parameters


def import_graph(package: Package) -> dict[str, set[str]]:
    """File -> files that it imports."""
    names = {file: file.relative_to(package.root).as_posix() for file in package.trees}
    graph: dict[str, set[str]] = {name: set() for name in names.values()}
    for file, tree in package.trees.items():
        for node in _run_statements(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    home, _ = _home(package, file, node, alias.name)
                    if home is not None and home != file:
                        graph[names[file]].add(names[home])
    return graph


def _run_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield node
            yield from _run_statements(node)


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of two or more nodes that reach each other."""
    reach = {node: _reachable(graph, node) for node in graph}
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return [set(group) for group in groups if len(group) > 1]


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead += graph[node]
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, nargs="?", default=SRC, metavar="SRC")
    parser.add_argument("--old", type=Path, metavar="OLD_SRC", help="a second source, shown as what was before")
    parser.add_argument("--worst", type=int, nargs="?", const=10, default=0, metavar="N")
    options = parser.parse_args()
    before = measure(options.old) if options.old else None
    after = measure(options.source)
    if before:
        print(f"{'':46s}{'before':>12s}{'after':>12s}")
    for name, found in after.items():
        columns = [str(before[name])] if before else []
        print(f"{found.title:46s}" + "".join(f"{column:>12s}" for column in [*columns, str(found)]))
        for offender in found.worst[: options.worst]:
            print(f"    {offender}")


if __name__ == "__main__":
    main()
