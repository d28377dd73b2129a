"""Views over many explanations: which players recur, which explanations resemble each other."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as ds
from scipy import sparse

from ..._base.arrays import Floats, Ints
from .encoding import name_to_text, names_of, with_names

# how files of players are scanned: every page is checked against its checksum
FORMAT = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)
# Similarities of so many pairs are held at a time.
_BLOCK_PAIRS = 2**22


def recurring(players: ds.Dataset, top: int | None) -> dict[str, Any]:
    """Columns of ``Store.recurring``; the memory is that of the distinct players."""
    value = ds.field("value")
    chosen = (value < 0) | (value > 0)  # nor NaN
    if top is not None:
        chosen &= ds.field("rank") <= top
    columns = ["player", "player_type", "value", "rank"]
    steps = [
        acero.Declaration("scan", acero.ScanNodeOptions(players, columns=columns, filter=chosen)),
        # the scan only skips what it can tell from statistics
        acero.Declaration("filter", acero.FilterNodeOptions(chosen)),
        acero.Declaration(
            "project",
            acero.ProjectNodeOptions(
                [ds.field("player"), ds.field("player_type"), value, pc.abs(value)],
                ["player", "player_type", "value", "size"],
            ),
        ),
        acero.Declaration(
            "aggregate",
            acero.AggregateNodeOptions(
                [
                    ("value", "hash_count", None, "n_targets"),
                    ("value", "hash_sum", None, "total"),
                    ("value", "hash_mean", None, "mean"),
                    ("size", "hash_mean", None, "mean_absolute"),
                ],
                keys=["player", "player_type"],
            ),
        ),
    ]
    table = acero.Declaration.from_sequence(steps).to_table()
    table = table.append_column("order", pc.negate(pc.abs(table["total"])))
    table = table.sort_by([("n_targets", "descending"), ("order", "ascending"), ("player", "ascending")])
    return with_names(table.drop_columns(["order"]), "player")


def similar(players: ds.Dataset, target: Hashable | None, k: int, at_least: float) -> dict[str, Any]:
    """Columns of ``Store.similar``."""
    names, vectors = _unit_vectors(players)
    if target is None:
        rows, columns, cosines = _top_pairs(vectors, k, at_least)
    else:
        text, kind = name_to_text(target)
        row = next((i for i, own in enumerate(names) if own == (text, kind)), None)
        rows, columns, cosines = _top_of(vectors, row, k, at_least)
    order = np.lexsort((columns, rows, -cosines))
    texts, kinds = zip(*names, strict=True) if names else ((), ())
    decoded = names_of(pa.chunked_array([pa.array(texts, pa.string())]), pa.chunked_array([pa.array(kinds)]))
    return {
        "target": [decoded[i] for i in rows[order]],
        "other": [decoded[i] for i in columns[order]],
        "similarity": cosines[order],
    }


def _unit_vectors(players: ds.Dataset) -> tuple[list[tuple[str, str]], Any]:
    """Targets (text, type) in the order of their names, and their values [targets, players] scaled to length 1."""
    codes: list[dict[tuple[str, str], int]] = [{}, {}]
    pieces: list[tuple[Ints, Ints, Floats]] = []
    columns = ["target", "target_type", "player", "player_type", "value"]
    for batch in players.to_batches(columns=columns):
        if batch.num_rows:
            rows = _codes(batch["target"], batch["target_type"], codes[0])
            pieces.append((rows, _codes(batch["player"], batch["player_type"], codes[1]), _values(batch)))
    if not pieces:
        return [], sparse.csr_array((0, 0))
    rows, found, values = (np.concatenate(column) for column in zip(*pieces, strict=True))
    # an order that does not depend on that of the files
    names = sorted(codes[0])
    position = np.empty(len(names), dtype=np.int64)
    position[[codes[0][name] for name in names]] = np.arange(len(names))
    vectors = sparse.csr_array((values, (position[rows], found)), shape=(len(names), len(codes[1])))
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return names, sparse.csr_array(sparse.diags_array(scale) @ vectors)


def _codes(texts: pa.Array, kinds: pa.Array, known: dict[tuple[str, str], int]) -> Ints:
    """[n] a number for each name, the same in every batch."""
    joined = pc.dictionary_encode(pc.binary_join_element_wise(kinds, texts, " "))
    names = [tuple(reversed(name.split(" ", 1))) for name in joined.dictionary.to_pylist()]
    numbers = np.array([known.setdefault((text, kind), len(known)) for text, kind in names])
    codes: Ints = numbers[joined.indices.to_numpy()]
    return codes


def _values(batch: pa.RecordBatch) -> Floats:
    # a player that sampling never met has no value: NaN counts as nothing
    values: Floats = np.nan_to_num(batch["value"].to_numpy(), nan=0.0)
    return values


def _top_pairs(vectors: Any, k: int, at_least: float) -> tuple[Ints, Ints, Floats]:
    """The k largest products of two different rows; memory is bounded, whatever the number of rows."""
    n = vectors.shape[0]
    step = max(1, _BLOCK_PAIRS // max(n, 1))
    best: tuple[Ints, Ints, Floats] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    transposed = vectors.T.tocsr()
    for begin in range(0, n, step):
        products = (vectors[begin : begin + step] @ transposed).tocoo()
        rows, columns = products.coords[0] + begin, products.coords[1]
        once = (columns > rows) & (products.data >= at_least)
        found = (rows[once], columns[once], products.data[once])
        best = _largest([np.concatenate(pair) for pair in zip(best, found, strict=True)], k)
    return best


def _top_of(vectors: Any, row: int | None, k: int, at_least: float) -> tuple[Ints, Ints, Floats]:
    """The k rows whose product with one row is largest."""
    if row is None:  # an explanation without players resembles nothing
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    products = (vectors @ vectors[[row]].T).toarray().ravel()
    others = np.flatnonzero((products >= at_least) & (products != 0))
    others = others[others != row]
    return _largest([np.full(len(others), row), others, products[others]], k)


def _largest(pairs: list[Any], k: int) -> tuple[Ints, Ints, Floats]:
    """The k pairs with the largest cosines; ties by position, lest they depend on the size of a block."""
    rows, columns, cosines = pairs
    if len(cosines) > k:
        floor = np.partition(cosines, len(cosines) - k)[len(cosines) - k] if k else np.inf
        near = np.flatnonzero(cosines >= floor)
        chosen = near[np.lexsort((columns[near], rows[near], -cosines[near]))[:k]]
        rows, columns, cosines = rows[chosen], columns[chosen], cosines[chosen]
    return rows, columns, np.clip(cosines, -1.0, 1.0)
