"""What masking puts in the place of pixels.

Most fills are images, made once: masked pixels come from there (`FillFrom`). `Inpainting` looks at what is left.
"""

from typing import Any

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...errors import InputError
from ..filling import Fill, FillFrom, held, in_dtype
from .layout import Pixels, channels_last

# standard deviation of the blur, as a part of the shorter side
BLUR = 1 / 8

_WORDS = {"mean": "the mean colour", "blur": "the image blurred"}
WORDS = (*_WORDS, "inpaint")


class Inpainting:
    """Masked pixels come from those around them that are not: push-pull interpolation.

    References
    ----------
    Gortler, Grzeszczuk, Szeliski, Cohen (1996), "The Lumigraph", section 3.4, doi:10.1145/237170.237200.
    """

    n_backgrounds = 1
    words = "what is around"

    def put(self, image: Pixels, masked: Bools, backgrounds: Ints) -> Pixels:
        """See `Fill`; `masked` is [B, H, W, 1]. Where nothing is left it is the mean of the image."""
        known = (~masked).astype(np.float64)
        colours = image * known
        mean = image.mean(axis=(0, 1), dtype=np.float64)
        filled = in_dtype(_push_pull(colours, known, mean), image.dtype)
        return np.where(masked, filled, image)

    def changes(self, image: Pixels) -> Bools:
        """See `Fill`; a pixel of an image of one colour never changes."""
        return np.full(image.shape, bool((image != image[:1, :1]).any()))


def _push_pull(colours: Floats, known: Floats, mean: Floats) -> Floats:
    """Colours everywhere [B, H, W, C], from weights `known` [B, H, W, 1] and colours times weights."""
    height, width = known.shape[1:3]
    if max(height, width) == 1:
        return np.where(known > 0, colours / np.maximum(known, 1e-300), mean)
    colours, known = (np.pad(a, ((0, 0), (0, height % 2), (0, width % 2), (0, 0))) for a in (colours, known))
    coarse = [
        a.reshape(len(a), a.shape[1] // 2, 2, a.shape[2] // 2, 2, -1).sum(axis=(2, 4)) for a in (colours, known)
    ]
    weight = np.maximum(coarse[1], 1.0)  # more than one known pixel counts as one
    above = _push_pull(coarse[0] / weight, coarse[1] / weight, mean)
    above = above.repeat(2, axis=1)[:, :height].repeat(2, axis=2)[:, :, :width]
    filled: Floats = colours[:, :height, :width] + (1 - known[:, :height, :width]) * above
    return filled


def make_fill(fill: Any, image: Pixels, axis: int | None) -> Fill:
    """The fill that a setting means for an image [H, W, C] whose own layout has its channels on `axis`.

    Raises
    ------
    InputError
        The image's dtype cannot hold it, or its shape is another one.
    """
    if isinstance(fill, str):
        if fill == "inpaint":
            return Inpainting()
        made = image.mean(axis=(0, 1), dtype=np.float64) if fill == "mean" else _blurred(image)
        return FillFrom.of(in_dtype(made, image.dtype), image, _WORDS[fill])
    given = held(fill, image.dtype, '"mean", "blur" or "inpaint"')
    if given.ndim <= 1:
        if given.ndim and len(given) != image.shape[2]:
            raise InputError(f"fill has {len(given)} numbers, and the image {image.shape[2]} channels")
        return FillFrom.of(given, image, str(fill))
    own = np.moveaxis(image, -1, axis) if axis is not None else image[..., 0]
    if given.shape[-own.ndim :] != own.shape or not own.ndim <= given.ndim <= own.ndim + 1:
        raise InputError(
            f"images to fill from have the shape of the image, {own.shape}, or (R, ...) for several of them; got "
            f"{given.shape}"
        )
    images = channels_last(given, axis)
    words = "another image" if images.ndim == image.ndim else f"one of {len(images)} images"
    return FillFrom(images.reshape(-1, *image.shape), words)


def _blurred(image: Pixels) -> Floats:
    from scipy.ndimage import gaussian_filter

    sigma = max(1.0, BLUR * min(image.shape[:2]))
    blurred: Floats = gaussian_filter(image.astype(np.float64), (sigma, sigma, 0))
    return blurred
