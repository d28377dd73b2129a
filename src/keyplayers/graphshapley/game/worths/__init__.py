"""Worths: what a coalition is worth, given the target's belief on it. A file each.

With b the belief in the whole field and q the belief on the coalition, a worth is a function of q, b and perhaps
of states that it speaks of. All engines, the direction of values and paths ask the same function. Adding one:

```
register(Kind("hellinger", unit="distance", quantity="closeness to the belief in the whole field", price=price))
```

in a file of this folder, which is found there, or anywhere outside of the package.
"""

import importlib
import pkgutil

from .registry import KINDS, Kind, Question, names, register

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["KINDS", "Kind", "Question", "names", "register"]
