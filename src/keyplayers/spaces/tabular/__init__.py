"""Rows of tables: a player is a column or a group of columns.

`space` reads an instance in the layout of the background (`layouts`), asks each column, which is of
one kind (`columns`), what masking puts in (`baselines`), and keeps both as a palette that batches are cut from
(`instance`).
"""

from .space import Tabular as Tabular
