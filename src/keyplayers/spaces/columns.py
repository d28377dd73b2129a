"""Columns of a frame that hold an instance's value and its baselines, in the frame's own library and dtypes."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._base.arrays import Ints
from ..errors import InputError


def stack(frame: Any, names: list[Any], values: list[Any], taus: list[list[Any]]) -> Any:
    """A frame of the instance on top of the baseline rows."""
    entries = list(zip(values, *taus, strict=True))
    if nw.dependencies.is_pandas_dataframe(frame):
        dtypes = frame.dtypes.tolist()
        columns = [_pandas_column(d, n, list(e)) for d, n, e in zip(dtypes, names, entries, strict=True)]
    else:
        held = nw.from_native(frame, eager_only=True)
        columns = [_narwhals_column(held[n], n, list(e)) for n, e in zip(names, entries, strict=True)]
    return frame_like(frame, columns)


def held_columns(frame: Any) -> Iterator[tuple[Any, Callable[[Ints], Any]]]:
    """Every column of a frame: as a NumPy array, None where that would not keep its dtype; a way to take rows."""
    if nw.dependencies.is_pandas_dataframe(frame):
        for name, dtype in frame.dtypes.items():
            held = frame[name].array
            yield (np.asarray(held) if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None), held.take
        return
    held_frame = nw.from_native(frame, eager_only=True)
    for name, dtype in held_frame.schema.items():
        series = held_frame[name]
        plain = (dtype.is_numeric() and not dtype.is_decimal()) or dtype == nw.Boolean()
        array = series.to_numpy() if plain and not series.is_null().any() else None
        yield array, partial(_gather, series)


def _gather(series: Any, picks: Ints) -> Any:
    return series[picks.tolist()]


def frame_like(frame: Any, columns: list[Any]) -> Any:
    """A frame of these columns in the library of another one."""
    if nw.dependencies.is_pandas_dataframe(frame):
        import pandas as pd

        return pd.DataFrame(dict(zip(frame.columns, map(kept, columns), strict=True)), copy=False)
    like = nw.from_native(frame, eager_only=True)
    return nw.from_dict(dict(zip(like.columns, columns, strict=True)), backend=like.implementation).to_native()


def with_dtypes(frame: Any, like: Any) -> Any:
    """A row that was a Series, which knows one dtype for all, with the dtypes of a table."""
    lacking = [name for name in frame.columns if name not in like.columns]
    if lacking:
        raise InputError(f"the background lacks the columns {', '.join(map(repr, lacking[:10]))}")
    for name in frame.columns:
        dtype, value = like[name].dtype, frame[name].tolist()[0]
        try:
            if hasattr(dtype, "categories") and not missing(value) and value not in dtype.categories:
                raise ValueError("none of the categories")  # pandas would make it missing
            frame[name] = frame[name].astype(dtype)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {name!r} holds {value!r}, but in the background it is of {dtype}: "
                "give the row as a frame of one row"
            ) from error
    return frame


def kept(array: Any) -> Any:
    """A column that pandas takes as it is: texts among its objects make it guess another dtype."""
    import pandas as pd

    if not (isinstance(array, pd.arrays.NumpyExtensionArray) and array.dtype.kind == "O"):
        return array
    return pd.Series(array, dtype=object, copy=False)


def _pandas_column(dtype: Any, name: Any, entries: list[Any]) -> Any:
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        unknown = [e for e in entries if not missing(e) and e not in dtype.categories]
        if unknown:
            raise InputError(
                f"the baseline of column {name!r} is {unknown[0]!r}, which is none of its categories: "
                f"{', '.join(map(repr, dtype.categories[:10]))}"
            )
        return pd.array(entries, dtype=dtype)
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and all(isinstance(e, float) for e in entries):
        return np.array(entries, dtype=dtype)
    try:
        if pd.api.types.is_integer_dtype(dtype) and not all(map(_is_whole, entries)):
            # a column of integers is promoted where its baseline is a fraction or missing
            _check_exact(entries)
            if isinstance(dtype, pd.ArrowDtype):
                dtype = "double[pyarrow]"
            else:
                dtype = "Float64" if pd.api.types.is_extension_array_dtype(dtype) else "float64"
            entries = [np.nan if missing(e) and dtype == "float64" else e for e in entries]
        if pd.api.types.is_bool_dtype(dtype):
            entries = _as_flags(entries)
            if None in entries and not pd.api.types.is_extension_array_dtype(dtype):
                raise ValueError("nothing is missing there")
        elif not pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_object_dtype(dtype):
            _check_no_numbers(entries)
        return pd.Series(entries, dtype=dtype).array
    except Exception as error:  # each dtype refuses in its own way
        raise _refused(name, entries, dtype) from error


def _narwhals_column(series: Any, name: Any, entries: list[Any]) -> Any:
    dtype = series.dtype
    entries = [e.item() if isinstance(e, np.generic) else e for e in entries]
    try:
        if dtype.is_integer() and not all(map(_is_whole, entries)):
            _check_exact(entries)
            dtype = nw.Float64()
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            made = nw.new_series(name, entries, nw.String(), backend=series.implementation)
            return made.cast(dtype)
        if dtype.is_integer():
            entries = [None if e is None else int(e) for e in entries]
        elif dtype.is_float():
            entries = [None if e is None else float(e) for e in entries]
        elif dtype == nw.Boolean():
            entries = _as_flags(entries)
        elif dtype == nw.String() or dtype.is_temporal():
            _check_no_numbers(entries)
        # a column in which all is missing may have no type of its own
        known = None if isinstance(dtype, nw.Unknown) else dtype
        return nw.new_series(name, entries, known, backend=series.implementation)
    except Exception as error:  # each library refuses in its own way
        raise _refused(name, entries, dtype) from error


def _is_whole(entry: Any) -> bool:
    return not missing(entry) and bool(int(entry) == entry)


def _check_exact(entries: list[Any]) -> None:
    """Refuse integers that promotion would round."""
    if any(isinstance(entry, (int, np.integer)) and int(float(entry)) != entry for entry in entries):
        raise ValueError("too large an integer beside a fraction")


def _as_flags(entries: list[Any]) -> list[bool | None]:
    """Booleans; a library would take 0.5 for True."""
    if any(not missing(entry) and entry not in (0, 1) for entry in entries):
        raise ValueError("neither true nor false")
    return [None if missing(entry) else bool(entry) for entry in entries]


def _check_no_numbers(entries: list[Any]) -> None:
    """Refuse numbers, of which a library would make texts or days."""
    if any(isinstance(entry, (int, float)) and not missing(entry) for entry in entries):
        raise ValueError("a number among what is none")


def _refused(name: Any, entries: list[Any], dtype: Any) -> InputError:
    words = sorted({repr(entry) for entry in entries[1:4]})
    return InputError(
        f"the baseline of column {name!r} is {', '.join(words)}, which a column of {dtype} cannot hold"
    )


def missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA refuses to be true or false
        return True
    except ValueError:  # an array in a cell
        return False
