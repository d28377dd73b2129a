"""What ``keyplayers explain-model`` explains beside rows of tables: texts, images, series."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from ..spaces.protocol import FeatureSpace

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
# modes of Pillow whose arrays are what the picture shows; others are converted
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I", "F", "I;16")
# largest value of a byte, which --floats makes 1
_WHITE = 255.0


class Given(NamedTuple):
    """What is to be explained, and how it falls into players."""

    space: "FeatureSpace"
    instance: Any  # one instance
    several: Any  # or many, as `explain_many` takes them
    label: str | None = None  # true class of the one
    labels: list[Any] | None = None  # or of the rows of the table that the many are from


@dataclass(frozen=True)
class MediaOptions:
    """Texts, images, series."""

    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of DATA that holds texts: explain these.")
    ] = None
    image: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="An image, or a folder of them; instead of DATA.")
    ] = None
    series: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A series: a table with a line per step, a column per channel."),
    ] = None
    unit: Annotated[str, typer.Option(help="Players of a text: word or sentence.")] = "word"
    mask: Annotated[str, typer.Option(help="What stands in for a masked word; default: it is removed.")] = ""
    occurrences: Annotated[str, typer.Option(help="A word that stands twice: each a player, or all one.")] = "each"
    players: Annotated[
        str, typer.Option(metavar="WORD|K", help="Players of an image: grid, pixels, segments, or K x K cells.")
    ] = "grid"
    fill: Annotated[
        str,
        typer.Option(
            metavar="WORD|NUMBER|FILE",
            help="What masked parts become: a number, mean, blur, inpaint, an image; of a series mean, linear.",
        ),
    ] = "mean"
    window: Annotated[int | None, typer.Option(help="Steps of a window of a series; default: 20 windows.")] = None
    channels: Annotated[
        str, typer.Option(help="Windows of a series cover channels together, or there are some of each.")
    ] = "together"
    refine: Annotated[
        bool, typer.Option("--refine", help="Find the key set among large players, then among their parts.")
    ] = False
    gray: Annotated[bool, typer.Option("--gray", help="Give the model images of one channel (H, W).")] = False
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Scale images to so many pixels.")] = None
    floats: Annotated[bool, typer.Option("--floats", help="Give the model images of 0 to 1, not bytes.")] = False
    channels_first: Annotated[
        bool, typer.Option("--channels-first", help="Give the model (C, H, W), or series (C, T).")
    ] = False

    def asked(self) -> str | None:
        """The option that says what is explained, None for a table.

        Raises
        ------
        typer.BadParameter
            There are several.
        """
        kinds = [name for name in ("text", "image", "series") if getattr(self, name) is not None]
        if len(kinds) > 1:
            raise typer.BadParameter(f"give one of --{' and --'.join(kinds)}")
        return kinds[0] if kinds else None

    def is_many(self) -> bool:
        """Whether this is a folder."""
        return self.image is not None and self.image.is_dir()

    def text_space(self) -> Any:
        """How texts fall into players."""
        from ..spaces.text import Text

        return Text(
            unit=self.unit,
            mask=self.mask,
            occurrences=self.occurrences,  # type: ignore[arg-type]
            refine=self.refine,
        )

    def read(self) -> Given:
        """The image, the images of the folder, or the series."""
        if self.series is not None:
            return self._read_series(self.series)
        from ..spaces.image import Image

        path = self.image or Path()
        space = Image(
            players=int(self.players) if self.players.isdigit() else self.players,
            fill=self._fill(),
            refine=self.refine,
        )
        if path.is_dir():
            return Given(space, None, self._folder(path))
        return Given(space, self._image(path), None)

    def _folder(self, path: Path) -> Mapping[str, Any]:
        """The images of a folder by the names of their files."""
        from ..errors import FileFormatError

        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        if not files:
            raise FileFormatError(f"{path} holds no images ({', '.join(SUFFIXES)})")
        return {file.name: self._image(file) for file in files}

    def _image(self, path: Path) -> Any:
        """An image as the model is given it."""
        import numpy as np

        from .._base.optional import require
        from ..errors import FileFormatError

        pillow, operations = require("PIL.Image"), require("PIL.ImageOps")
        if not path.is_file():
            raise FileFormatError(f"{path}: no such file")
        try:
            with pillow.open(path) as opened:
                image = operations.exif_transpose(opened)
                if self.gray or image.mode not in _PLAIN_MODES:
                    image = image.convert("L" if self.gray else "RGB")
                if self.size is not None:
                    image = image.resize(self._pixels())
                found = np.array(image)
        except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
            raise FileFormatError(f"{path}: not an image that Pillow reads ({error})") from error
        if self.floats:
            found = (found / _WHITE).astype(np.float32)
        return np.ascontiguousarray(np.moveaxis(found, 2, 0)) if self.channels_first and found.ndim == 3 else found

    def _pixels(self) -> tuple[int, int]:
        width, _, height = str(self.size).partition("x")
        if not (width.isdigit() and height.isdigit() and int(width) and int(height)):
            raise typer.BadParameter(f"--size is WIDTHxHEIGHT, such as 64x64, got {self.size!r}")
        return int(width), int(height)

    def _fill(self) -> Any:
        """A word as it is, a number as a number, a file as the image that it holds."""
        if Path(self.fill).suffix.lower() in SUFFIXES:
            return self._image(Path(self.fill))
        try:
            return json.loads(self.fill)
        except ValueError:
            return self.fill

    def _read_series(self, path: Path) -> Given:
        """A table as one series."""
        import numpy as np

        from ..errors import FileFormatError
        from ..spaces.series import Series
        from .frames import read_frame

        table = read_frame(path)
        try:
            steps = table.to_numpy(dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: a series holds numbers, one column per channel ({error})") from error
        space = Series(
            window=self.window,
            channels=self.channels,  # type: ignore[arg-type]
            fill=self._fill(),
            channel_axis=0 if self.channels_first else 1,
            channel_names=[str(name) for name in table.columns],
            refine=self.refine,
        )
        if steps.shape[1] == 1 and not self.channels_first:
            return Given(space, steps[:, 0].copy(), None)
        return Given(space, np.ascontiguousarray(steps.T) if self.channels_first else steps, None)
