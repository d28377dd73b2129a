"""What a game needs of a feature space: two small protocols."""

from collections.abc import Hashable
from typing import Any, Protocol

from .._base.arrays import Bools, Floats, Ints


class MaskedInstance(Protocol):
    """One instance cut into n players, each of which can be masked.

    An instance may also have a `view`, which shows it (see `views`), and a method ``split(players)``, which gives
    the instance with the parts of these players as its players, or None where they have none: then a key set that
    was found is sought again among its parts.

    Laws that every space keeps: masking nothing gives back the instance; a batch equals its rows one by one;
    neither the instance nor the background is written to; names are unique; every batch has the same type,
    columns and dtypes, whatever is masked.
    """

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Unique names of the players [n]."""

    @property
    def maskable(self) -> Bools:
        """False where masking changes nothing [n]."""

    @property
    def n_backgrounds(self) -> int:
        """R, rows that masked values can come from."""

    @property
    def display_values(self) -> tuple[str, ...]:
        """The players' own values in words [n]."""

    @property
    def display_masked(self) -> tuple[str, ...]:
        """What masking puts in, in words [n]."""

    def rows(self, masked: Bools, backgrounds: Ints) -> Any:
        """What the model is given: row b masks the players ``masked[b]`` with background ``backgrounds[b]``.

        Parameters
        ----------
        masked
            Masked players, [B, n].
        backgrounds
            Which background row fills in, [B], each below `n_backgrounds`.
        """


class FeatureSpace(Protocol):
    """A way to cut instances into players."""

    def bind(self, instance: Any) -> MaskedInstance:
        """The players of one instance."""


class Neighbours(Protocol):
    """Real rows as seen from one instance: what masking could put in."""

    @property
    def order(self) -> Ints:
        """Background rows [N], the nearest first."""

    @property
    def distances(self) -> Floats:
        """How far each background row is [N]."""

    def rows(self, picks: Ints) -> Any:
        """What the model is given with everything masked towards each of these rows [B].

        Where the model decides otherwise there, so it does somewhere on the way.
        """

    def towards(self, pick: int) -> MaskedInstance:
        """The instance, masked with the values of one row."""


class NeighbourSpace(FeatureSpace, Protocol):
    """A space whose masked values may come from the nearest rows that the model decides otherwise."""

    @property
    def seeks_neighbours(self) -> bool:
        """Whether they do; then `bind` refuses."""

    @property
    def n_neighbours(self) -> int:
        """How many such rows are tried."""

    def neighbours(self, instance: Any) -> Neighbours:
        """The background rows as seen from one instance."""
