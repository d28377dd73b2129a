"""Pieces of evidence as players, for fields that are asked as classifiers: a masked one is not there."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._base.arrays import Bools, Ints
from ..._base.names import name_from_json, name_to_json
from ...errors import InputError
from ..views import Mark, Marks

_SIGNS: dict[Mark, str] = {"carries": "+", "opposes": "-"}


@dataclass(frozen=True, eq=False)
class EvidenceView:
    """What is known of whom, as the ground of a belief."""

    subject: str  # whom the belief is about
    known: Mapping[Hashable, str]  # variable -> its evidence in words
    kind: ClassVar[str] = "evidence"
    noun: ClassVar[str] = "variable"
    speaker: ClassVar[str] = "the field"
    removes: ClassVar[bool] = True
    legend: ClassVar[tuple[str, str]] = ("+", "-")

    def named(self, player: Hashable) -> str:
        """The variable and its evidence."""
        return f"{player} ({self.known[player]})"

    def picture(self, marks: Marks) -> list[str]:
        """A line for each marked piece of evidence."""
        return [f"{_SIGNS[mark]} {self.named(player)}" for player, mark in marks.items()]

    def to_dict(self) -> dict[str, Any]:
        """Names and words."""
        known = [{"name": name_to_json(name), "evidence": words} for name, words in self.known.items()]
        return {"subject": self.subject, "known": known}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EvidenceView":
        """Of what `to_dict` gave."""
        known = {name_from_json(one["name"]): str(one["evidence"]) for one in data["known"]}
        return cls(str(data["subject"]), known)


@dataclass(frozen=True, eq=False)
class EvidenceSpace:
    """The evidence around one variable."""

    subject: str
    names: tuple[Hashable, ...]
    words: tuple[str, ...]  # what is known of each, in words

    def bind(self, instance: Any) -> "EvidenceInstance":
        """The players of an instance: which evidence is there [n].

        Raises
        ------
        InputError
            It is no array of that length.
        """
        there = np.asarray(instance, dtype=bool)
        if there.shape != (len(self.names),):
            raise InputError(f"evidence must be given as [{len(self.names)}], got shape {there.shape}")
        return EvidenceInstance(self.names, there, self.words, self.subject)

    def __repr__(self) -> str:
        return f"<EvidenceSpace of {len(self.names):,} variables around {self.subject}>"


@dataclass(frozen=True, eq=False)
class EvidenceInstance:
    """Which evidence is there; see `MaskedInstance`."""

    names: tuple[Hashable, ...]
    maskable: Bools
    display_values: tuple[str, ...]
    subject: str
    n_backgrounds: ClassVar[int] = 1

    @property
    def display_masked(self) -> tuple[str, ...]:
        """Nothing is known then."""
        return ("unknown",) * len(self.names)

    @property
    def view(self) -> EvidenceView:
        """Shows it."""
        return EvidenceView(self.subject, dict(zip(self.names, self.display_values, strict=True)))

    def rows(self, masked: Bools, backgrounds: Ints) -> Bools:
        """[B, n] which evidence is left."""
        left: Bools = self.maskable & ~masked
        return left
