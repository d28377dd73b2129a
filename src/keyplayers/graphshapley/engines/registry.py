"""The table of engines: each is registered by name and looked up when it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass

from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ..game.game import EngineResult, Game

# Coalitions that enumeration prices where nobody says otherwise: a second or two.
MAX_ENUMERATED = 2_000_000


@dataclass(frozen=True)
class Request:
    """What the caller allows and wants."""

    max_evals: int | None = None  # coalitions whose worth may be computed; None: what the engine is made for
    std_error_goal: float | None = None  # of the largest values, in the worth's unit: where sampling may stop
    keep_coalitions: bool = False
    max_enumerated: int = MAX_ENUMERATED  # coalitions to enumerate where `max_evals` is None

    @property
    def enumeration_limit(self) -> int:
        """Most coalitions that enumeration goes through."""
        return self.max_evals or self.max_enumerated


@dataclass(frozen=True)
class Engine:
    """One way of finding the values."""

    name: str
    # None where it can play, else why not, with what to change
    refuses: Callable[[Game, Request, Progress], str | None]
    # why "auto" takes it, once it does not refuse
    reason: Callable[[Game, Request], str]
    play: Callable[[Game, Request, RandomState, Progress], EngineResult]


# in the order in which method="auto" asks them
ENGINES: dict[str, Engine] = {}


def register_engine(engine: Engine) -> Engine:
    """Make an engine known by its name; a later one of the same name takes its place.

    ``GraphShapley(mrf, method=engine.name)`` asks for it; "auto" asks it after those that were there before.
    """
    ENGINES[engine.name] = engine
    return engine


def methods() -> list[str]:
    """What the setting `method` may be."""
    return ["auto", *ENGINES]
