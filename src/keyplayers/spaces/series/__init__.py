"""Series: a player is a window of steps, of one channel or of all."""

from .space import Series as Series
