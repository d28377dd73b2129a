"""The tables of engines, one for each game: registered by name, and looked up when they are asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ..game.game import EngineResult, Game
from ..game.walk_game import WalkGame

Coalitions: TypeAlias = Literal["walks", "subtrees"]
Playable = TypeVar("Playable", Game, WalkGame)

# Coalitions that enumeration prices where nobody says otherwise: a second or two.
MAX_ENUMERATED = 2_000_000


@dataclass(frozen=True)
class Request:
    """What the caller allows and wants."""

    max_evals: int | None = None  # coalitions whose worth may be computed; None: what the engine is made for
    std_error_goal: float | None = None  # of the largest values, in the worth's unit: where sampling may stop
    keep_coalitions: bool = False
    max_enumerated: int = MAX_ENUMERATED  # coalitions to enumerate where `max_evals` is None
    max_convolved: int | None = None  # copies of a walk game, equal ones once, to convolve; None: any number

    @property
    def enumeration_limit(self) -> int:
        """Most coalitions that enumeration goes through."""
        return self.max_evals or self.max_enumerated


@dataclass(frozen=True)
class Engine(Generic[Playable]):
    """One way of finding the values of one of the two games."""

    name: str
    # None where it can play, else why not, with what to change
    refuses: Callable[[Playable, Request, Progress], str | None]
    # why "auto" takes it, once it does not refuse
    reason: Callable[[Playable, Request], str]
    play: Callable[[Playable, Request, RandomState, Progress], EngineResult]


# in the order in which method="auto" asks them: for the game of subtrees, and for that of walks
ENGINES: dict[str, Engine[Game]] = {}
WALK_ENGINES: dict[str, Engine[WalkGame]] = {}


def register_engine(engine: Engine[Any], *, coalitions: Coalitions = "subtrees") -> Engine[Any]:
    """Make an engine known by its name; a later one of the same name and game takes its place.

    ``GraphShapley(mrf, coalitions=coalitions, method=engine.name)`` asks for it; "auto" asks it after those that
    were there before.
    """
    table: dict[str, Engine[Any]] = WALK_ENGINES if coalitions == "walks" else ENGINES
    table[engine.name] = engine
    return engine


def methods() -> list[str]:
    """What the setting `method` may be, whichever game is played."""
    return ["auto", *dict.fromkeys([*ENGINES, *WALK_ENGINES])]
