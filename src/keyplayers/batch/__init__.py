"""Many targets: `explain_many` and the store."""

from .._base.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Failure": ".run",
        "explain_many": ".run",
        "Store": ".store.reader",
        "open_store": ".store.reader",
    },
)
