"""What a search may spend: rows given to the model, seconds, and rows kept back for what comes later."""

import math
import time
from dataclasses import dataclass, replace

Seconds = float


@dataclass(frozen=True)
class Budget:
    """Up to how many rows in all, and until when, the model may be asked.

    A budget is a value: a part of the search gets a smaller one (`part`, `keeping`), and the whole stays as it is.
    """

    max_rows: int  # rows given to the model since the start of the explanation after which it is spent
    deadline: Seconds = math.inf  # `time.perf_counter()` after which it is spent
    reserve: int = 0  # rows of these that are kept for later

    def rows_left(self, n_rows: int) -> int:
        """Rows that may still be given to a model that was given `n_rows`."""
        if self.out_of_time():
            return 0
        return max(0, self.max_rows - self.reserve - n_rows)

    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline

    def part(self, n_rows: int, more: int) -> "Budget":
        """The same, but for at most so many `more` rows than the `n_rows` that are spent."""
        return replace(self, max_rows=min(self.max_rows, n_rows + more))

    def keeping(self, reserve: int) -> "Budget":
        """The same with so many rows kept for later."""
        return replace(self, reserve=reserve)


NO_ROWS = Budget(0)  # for looking up what is known
