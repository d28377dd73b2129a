"""`Image`: pixels, cells or segments of an image as players."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Ints
from ..._base.settings import NOTHING, YES_OR_NO, Rule, Settings, one_of, setting, whole
from ..filling import Fill
from . import fills, players
from .layout import Pixels, as_given, channels_last, find_channel_axis, read_image
from .view import ImageView

# a player that is split falls into so many parts a side
PARTS = 4


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(whole(1).accepts(each) for each in value)


_PLAYERS = (
    one_of(*players.WORDS)
    | whole(1)
    | Rule(
        lambda: "(rows, columns) of a grid, or a label map [H, W]",
        lambda value: (
            _is_pair(value) or isinstance(value, np.ndarray) or (isinstance(value, list) and bool(value))
        ),
    )
)
_FILL = one_of(*fills.WORDS) | Rule(
    lambda: "a number, one number per channel, or one or several images",
    lambda value: isinstance(value, int | float | list | tuple | np.ndarray) and not isinstance(value, bool),
)
_AXIS = NOTHING | Rule(lambda: "an axis", lambda value: isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True, eq=False)
class ImageInstance:
    """An image cut into players; see `MaskedInstance`."""

    names: tuple[Hashable, ...]
    maskable: Bools
    display_values: tuple[str, ...]
    display_masked: tuple[str, ...]
    image: Pixels  # [H, W, C]
    axis: int | None  # of the channels in the image as it was given
    labels: Ints  # [H, W] player of each pixel, -1 where it has none
    fill: Fill
    grid: tuple[int, int] | None  # rows and columns of the players, where they form a grid
    refine: bool

    @property
    def n_backgrounds(self) -> int:
        """Images that masked pixels can come from."""
        return self.fill.n_backgrounds

    @property
    def view(self) -> ImageView:
        """What shows the image."""
        return ImageView.of(self.image, self.labels, self.names)

    def rows(self, masked: Bools, backgrounds: Ints) -> Pixels:
        """Images of the shape and dtype of the one given; see `MaskedInstance.rows`."""
        # pixels of no player take the last column, which is never masked
        wide = np.concatenate([masked, np.zeros((len(masked), 1), dtype=bool)], axis=1)
        filled = self.fill.put(self.image, wide[:, self.labels, None], backgrounds)
        return np.ascontiguousarray(as_given(filled, self.axis))

    def split(self, chosen: tuple[Hashable, ...]) -> "ImageInstance | None":
        """The parts of these players as players, where the space refines and they have more than one pixel."""
        inside = np.isin(self.labels, [self.names.index(player) for player in chosen])
        if not self.refine or inside.sum() <= len(chosen):
            return None
        labels, names = players.parts(self.labels, inside, PARTS)
        return replace(_cut(self.image, self.axis, labels, names, self.fill), refine=True)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Image(Settings):
    """Pixels, cells or segments of an image as players.

    The model is given images of exactly the shape and dtype of the instance.

    Parameters
    ----------
    players
        "grid": about 64 nearly square cells; k or (rows, columns): a grid of so many; "pixels"; "segments": about
        64 stretches of similar colour (SLIC; needs the extra "images"); or a label map [H, W], whose labels may be
        any whole numbers. Every pixel belongs to one player, which covers all channels.
    fill
        What masked pixels become: a number, or one per channel; "mean": the image's mean colour; "blur": the image
        blurred; "inpaint": what is around them; an image of the same shape; or several [R, ...], over which the
        prediction is averaged. The image's dtype must be able to hold it.
    channel_axis
        Axis of the channels; None: the last or first one of three, whichever has at most 4 entries.
    refine
        Once a key set is found, split its players, and look for the key set among their parts; again and again,
        down to pixels.

    Examples
    --------
    >>> bound = Image(players=2, fill=0).bind(np.arange(16, dtype=np.uint8).reshape(4, 4))
    >>> bound.names
    ('row 0 column 0', 'row 0 column 1', 'row 1 column 0', 'row 1 column 1')
    >>> bound.rows(np.array([[False, True, False, False]]), np.zeros(1, dtype=int))[0]
    array([[ 0,  1,  0,  0],
           [ 4,  5,  0,  0],
           [ 8,  9, 10, 11],
           [12, 13, 14, 15]], dtype=uint8)
    """

    players: Any = setting("grid", _PLAYERS)
    fill: Any = setting("mean", _FILL)
    channel_axis: int | None = setting(None, _AXIS)
    refine: bool = setting(False, YES_OR_NO)

    def bind(self, instance: Any) -> ImageInstance:
        """The players of one image: an array (H, W), (H, W, C) or (C, H, W), a tensor, or an image of Pillow.

        Raises
        ------
        InputError
            It is no image, or `players` or `fill` do not fit it.
        """
        given = read_image(instance)
        axis = find_channel_axis(given.shape, self.channel_axis)
        image = channels_last(given, axis)
        labels, names, grid = players.cut(image, self.players)
        fill = fills.make_fill(self.fill, image, axis)
        return replace(_cut(image, axis, labels, names, fill), grid=grid, refine=self.refine)


def _cut(image: Pixels, axis: int | None, labels: Ints, names: list[Hashable], fill: Fill) -> ImageInstance:
    """An image whose players are those of a label map."""
    changes = fill.changes(image).any(axis=2)
    maskable = np.zeros(len(names) + 1, dtype=bool)
    np.logical_or.at(maskable, labels, changes)
    return ImageInstance(
        names=tuple(names),
        maskable=maskable[:-1],
        display_values=("",) * len(names),
        display_masked=(fill.words,) * len(names),
        image=image,
        axis=axis,
        labels=labels,
        fill=fill,
        grid=None,
        refine=False,
    )
