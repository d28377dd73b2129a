"""The Python reference has all public names."""

import re
from pathlib import Path

import keyplayers as kp

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_the_reference_lists_every_public_name():
    listed = re.findall(r"^::: keyplayers\.[\w.]*?(\w+)$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    constants = {name for name in kp.__all__ if name.isupper()} | {"__version__"}
    assert sorted(listed) == sorted(set(kp.__all__) - constants)
