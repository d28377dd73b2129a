"""What is asked of a library of data frames."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy.typing as npt

from ..._base.arrays import Ints
from .columns.choose import Known
from .columns.protocol import Column


class Library(Protocol):
    """Columns of one library: their dtypes and kinds, and how entries become a column."""

    def names(self, frame: Any) -> list[Any]:
        """What the columns are called."""

    def dtypes(self, frame: Any) -> list[Any]:
        """Of each column."""

    def cells(self, frame: Any) -> list[Any]:
        """The first row's entries."""

    def column(self, dtype: Any, known: Known) -> Column:
        """The column of this dtype; where the dtype says nothing, what the background holds decides."""

    def joined(self, background: Any, dtype: Any, cell: Any) -> Any:
        """A dtype in which the background and a cell of another dtype find place."""

    def hold(self, column: Column, dtype: Any, entries: list[Any]) -> Any:
        """Entries as a column of this dtype; whole numbers are promoted where an entry is a fraction.

        Raises
        ------
        Exception
            The dtype cannot hold them: each library refuses in its own way.
        """

    def frame(self, names: list[Any], columns: list[Any]) -> Any:
        """A frame of columns that `hold` made or arrays."""

    def block(self, names: list[Any], values: npt.NDArray[Any]) -> Any:
        """A frame of columns of one dtype, [D, B]."""

    def columns(self, frame: Any) -> Iterator[tuple[Any, Callable[[Ints], Any]]]:
        """Every column: as a NumPy array, None where that would not keep its dtype; a way to take rows."""
