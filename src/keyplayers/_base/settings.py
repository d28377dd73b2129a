"""Settings of explainers: fields of a frozen dataclass, each with the rule that its value must obey.

```
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sampler(Settings):
    n_draws: int | None = setting(None, NOTHING | whole(at_least=1))
    law: str = setting("uniform", one_of("uniform", "shapley"))
```

A wrong value is refused when it is given: "n_draws must be None or a whole number of at least 1, got 0".
"""

import dataclasses
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .markup import table_html

_RULE = "rule"


@dataclass(frozen=True)
class Rule:
    """What a setting may be; ``a | b`` allows either."""

    allowed: Callable[[], str]  # in words, which complete "it must be ..."
    accepts: Callable[[Any], bool]

    def __or__(self, other: "Rule") -> "Rule":
        return Rule(
            lambda: f"{self.allowed()} or {other.allowed()}",
            lambda value: self.accepts(value) or other.accepts(value),
        )


NOTHING = Rule(lambda: "None", lambda value: value is None)
ANYTHING = Rule(lambda: "anything", lambda value: True)
YES_OR_NO = Rule(lambda: "True or False", lambda value: isinstance(value, bool))


def exactly(word: str) -> Rule:
    """This word and no other, such as "auto"."""
    return Rule(lambda: repr(word), lambda value: isinstance(value, str) and value == word)


def one_of(*names: str) -> Rule:
    """One of these words."""
    return registered(lambda: names)


def registered(names: Callable[[], Iterable[str]]) -> Rule:
    """One of the words that `names` gives at the time of asking: what is registered later counts too."""
    return Rule(
        lambda: "one of " + ", ".join(names()),
        lambda value: isinstance(value, str) and value in tuple(names()),
    )


def whole(at_least: int) -> Rule:
    """A whole number."""
    return Rule(
        lambda: f"a whole number of at least {at_least}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= at_least,
    )


def real(at_least: float | None = None, *, above: float | None = None, at_most: float | None = None) -> Rule:
    """A finite number within these bounds."""
    possible = (
        ("of at least", operator.ge, at_least),
        ("above", operator.gt, above),
        ("at most", operator.le, at_most),
    )
    bounds = [(words, holds, bound) for words, holds, bound in possible if bound is not None]
    shown = " and ".join(f"{words} {bound}" for words, _, bound in bounds)

    def accepts(value: Any) -> bool:
        return (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and all(holds(value, bound) for _, holds, bound in bounds)
        )

    return Rule(lambda: f"a number {shown}".rstrip(), accepts)


def instance_of(kind: type, words: str) -> Rule:
    """An object of a class, called `words` where another one is refused."""
    return Rule(lambda: words, lambda value: isinstance(value, kind))


def setting(default: Any = dataclasses.MISSING, rule: Rule = ANYTHING, *, positional: bool = False) -> Any:
    """A field of `Settings`: its default (none: it must be given) and its rule.

    Parameters
    ----------
    positional
        Whether it may be given without its name.
    """
    return dataclasses.field(default=default, kw_only=not positional, metadata={_RULE: rule})


class Settings:
    """A frozen dataclass whose fields are checked when they are given.

    NumPy's scalars become plain numbers, which JSON can hold. Rules between several fields stand in a subclass's
    ``__post_init__``, after ``super().__post_init__()``.

    Raises
    ------
    InputError
        A value breaks its rule; the message names the field, what is allowed and what was given.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                value = value.item()
                object.__setattr__(self, field.name, value)
            rule = field.metadata.get(_RULE, ANYTHING)
            if not rule.accepts(value):
                raise InputError(f"{field.name} must be {rule.allowed()}, got {_shown(value)}")

    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults, in the order of the signature."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if not _same(getattr(self, field.name), field.default)
        }

    def _repr_html_(self) -> str:
        rows = [[name, _shown(value)] for name, value in self.changed().items()]
        return table_html(type(self).__name__, ["setting", "value"] if rows else [], rows)

    def __repr__(self) -> str:
        fields = {field.name: field for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        shown = [
            _shown(value) if not fields[name].kw_only else f"{name}={_shown(value)}"
            for name, value in self.changed().items()
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _same(value: Any, default: Any) -> bool:
    """Whether a value is its default; what compares element by element never is."""
    if value is default:
        return True
    return (
        type(value) is type(default) and isinstance(value, str | bool | int | float | tuple) and value == default
    )


def _shown(value: Any) -> str:
    """A value in a message: short values as they are, arrays, frames and models by what they are."""
    if isinstance(value, str | bool | int | float | tuple | list | dict | None) and len(repr(value)) <= 80:
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    shown = repr(value)
    return (
        shown if len(shown) <= 80 and "\n" not in shown and " at 0x" not in shown else f"<{type(value).__name__}>"
    )
