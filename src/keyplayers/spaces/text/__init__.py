"""Texts: a player is a word, a sentence, or what a tokeniser of the caller's says.

`tokens` finds where the players stand; `space` cuts a text there, so that batches are joined from the parts.
"""

from .space import Text as Text
