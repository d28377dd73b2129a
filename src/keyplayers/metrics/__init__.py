"""How good a ranking of players is, whoever made it."""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "Faithfulness": ".curves",
    "faithfulness": ".curves",
    "kendall": ".agreement",
    "paired_interval": ".agreement",
    "steps_until_flip": ".steps",
    "top_overlap": ".agreement",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .agreement import kendall as kendall
    from .agreement import paired_interval as paired_interval
    from .agreement import top_overlap as top_overlap
    from .curves import Faithfulness as Faithfulness
    from .curves import faithfulness as faithfulness
    from .steps import steps_until_flip as steps_until_flip
