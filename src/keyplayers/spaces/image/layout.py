"""Where an image has its rows, columns and channels."""

from typing import Any

import numpy as np

from ...errors import InputError

Pixels = np.ndarray[Any, np.dtype[Any]]

# an axis of at most this many entries is taken for that of the channels
MAX_CHANNELS = 4


def read_image(instance: Any) -> Pixels:
    """An image as an array of its own dtype.

    Raises
    ------
    InputError
        It holds no numbers.
    """
    if hasattr(instance, "detach"):  # a tensor may be on another device, and remember how it came about
        instance = instance.detach().cpu()
    image = np.asarray(instance)
    if image.dtype.kind not in "biuf" or image.size == 0:
        raise InputError(f"an image is an array of numbers, got {_described(instance, image)}")
    return image


def _described(instance: Any, image: Pixels) -> str:
    kind = type(instance).__name__
    return f"{kind} of dtype {image.dtype}" if image.size else f"{kind} of shape {image.shape}"


def find_channel_axis(shape: tuple[int, ...], given: int | None) -> int | None:
    """The axis of the channels, None where there is none.

    Raises
    ------
    InputError
        The shape is none of an image, or leaves in doubt where the channels are.
    """
    if given is None:
        return _guess(shape)
    if len(shape) != 3 or not -3 <= given < 3:
        raise InputError(f"channel_axis={given} is for images of three axes, such as (H, W, C); got shape {shape}")
    return given % 3


def _guess(shape: tuple[int, ...]) -> int | None:
    if len(shape) == 2:
        return None
    wanted = "an image has shape (H, W), (H, W, C) or (C, H, W)"
    if len(shape) != 3:
        raise InputError(f"{wanted}, got {shape}; of a batch give one image at a time")
    first, last = shape[0] <= MAX_CHANNELS, shape[2] <= MAX_CHANNELS
    if first == last:
        why = "both could be channels" if first else f"neither has at most {MAX_CHANNELS} entries"
        raise InputError(
            f"{wanted}, and the first and last axis of {shape} leave it in doubt ({why}): give channel_axis"
        )
    return 2 if last else 0


def channels_last(images: Pixels, axis: int | None) -> Pixels:
    """Images [..., H, W, C] from their own layout; `axis` counts within the last two or three axes."""
    return images[..., None] if axis is None else np.moveaxis(images, axis - 3, -1)


def as_given(images: Pixels, axis: int | None) -> Pixels:
    """Images in their own layout from [..., H, W, C]."""
    return images[..., 0] if axis is None else np.moveaxis(images, -1, axis - 3)
