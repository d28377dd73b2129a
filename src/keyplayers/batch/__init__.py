"""Many targets: `explain_many` and the store."""
