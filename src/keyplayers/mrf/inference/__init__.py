"""One file per algorithm; all return a `BeliefState`."""
