"""Columns of a table, one class for each kind: what masking may put in, and how a cell is read."""
