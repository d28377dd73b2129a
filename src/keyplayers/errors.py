"""Every deliberate error and warning of the library.

KeyPlayersError
├── InputError (ValueError)              what the caller gave cannot be used
│   ├── FileFormatError                  ... and it stands in a file: path, line, column
│   └── ContradictionError               the evidence excludes every assignment
├── UnknownNameError (KeyError)          no variable, state, player or class of that name
├── TooLargeError (RuntimeError)         an exact answer would cost more than is allowed
├── MissingPackageError (ImportError)    an optional package is not installed
├── ModelError                           something is wrong with the user's model: masked, partial
│   ├── PredictorError (RuntimeError)    it failed; its own exception is the cause
│   └── PredictionError (InputError)     it answered, but not with a prediction
└── StoreLockedError (RuntimeError)      another process is writing into the store

KeyPlayersWarning (UserWarning)
├── ConvergenceWarning                   an iteration stopped before it converged
└── PrecisionWarning                     the number shown is less sure than it looks
"""

from collections.abc import Hashable
from typing import Any


class KeyPlayersError(Exception):
    """Base of all errors that the library raises on purpose."""


class InputError(KeyPlayersError, ValueError):
    """What was given cannot be used; the message says what is allowed."""


class FileFormatError(InputError):
    """A file cannot be read as what it should be; the message says where."""


class ContradictionError(InputError):
    """Priors, potentials and evidence together exclude every assignment."""


class UnknownNameError(KeyPlayersError, KeyError):
    """Nothing of that name exists; the message says what does."""

    def __str__(self) -> str:
        # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class TooLargeError(KeyPlayersError, RuntimeError):
    """An exact answer would cost more than is allowed; the message says how much."""


class MissingPackageError(KeyPlayersError, ImportError):
    """An optional package is missing; the message names the extra to install."""


class ModelError(KeyPlayersError):
    """Something is wrong with the user's model.

    Attributes
    ----------
    masked : tuple
        Names of the players that were masked in the row that brought it to light.
    partial : Explanation or None
        What had been found before.
    """

    def __init__(self, message: str, *, masked: tuple[Hashable, ...] = (), partial: Any = None) -> None:
        super().__init__(message)
        self.masked = masked
        self.partial = partial


class PredictorError(ModelError, RuntimeError):
    """The user's model failed. Its own exception is the ``__cause__``."""


class PredictionError(ModelError, InputError):
    """The user's model answered, but not with a prediction, such as NaN; the message says what is wanted."""


class StoreLockedError(KeyPlayersError, RuntimeError):
    """Another process is writing into the store; the message says which."""


class KeyPlayersWarning(UserWarning):
    """Base of all warnings of the library."""


class ConvergenceWarning(KeyPlayersWarning):
    """An iteration stopped before it converged; the message says what to try."""


class PrecisionWarning(KeyPlayersWarning):
    """A result is less certain than its digits suggest."""
