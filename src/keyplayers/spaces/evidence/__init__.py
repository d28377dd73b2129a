"""Pieces of evidence as players, and the field that judges them."""
