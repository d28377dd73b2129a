"""From data to a page: HTML that fetches nothing, runs nothing that data say, and has the browser see to it."""

import base64
import hashlib
import json
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.atomic import replacing
from .._base.optional import require
from .._version import __version__
from ..errors import InputError
from ..explanation import Explanation
from .data import page_data
from .limits import ONE_PAGE, Limits

if TYPE_CHECKING:
    from jinja2 import Environment

# what the template writes out, and the script does not need
_IN_WORDS = {"facts", "settings", "sentence", "opening", "about"}
_ASSETS = Path(__file__).with_name("assets")


def write_report(found: Explanation[Any], path: "str | PathLike[str]") -> None:
    """Write an explanation as one HTML page that can be sent: nothing in it comes from elsewhere.

    Parameters
    ----------
    path
        A file that ends in .html or .htm.

    Raises
    ------
    InputError
        It has another suffix.
    MissingPackageError
        Jinja2 is not installed (the extra "report").
    """
    if not fspath(path).lower().endswith((".html", ".htm")):
        raise InputError(f"a report is an .html file, got {fspath(path)!r}")
    text = render_page(found)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def render_page(found: Explanation[Any], limits: Limits = ONE_PAGE) -> str:
    """The page as text."""
    return render("page.html", page_data(found.structure, found, limits), script="page.js")


def render(template: str, data: Any, *, script: str, **more: Any) -> str:
    """A page whose style and script stand within it.

    The browser runs that script only: the policy of the page names its hash.
    """
    code, style = asset(script), asset("page.css")
    return (
        environment()
        .get_template(template)
        .render(
            **page_parts(data),
            code=code,
            style=style,
            policy=f"default-src 'none'; {own_only(code, style)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            version=__version__,
            **more,
        )
    )


def page_parts(data: Any) -> dict[str, Any]:
    """What a template takes: the data for its own texts, and as JSON for the script."""
    return {"data": data, "json": as_script({key: data[key] for key in data if key not in _IN_WORDS})}


def as_script(data: Any) -> str:
    """JSON that cannot leave the element that holds it, whatever texts it has in it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """A file of ours."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def environment() -> "Environment":
    """Templates; whatever they print is escaped."""
    jinja2: Any = require("jinja2")
    made: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return made


def own_only(code: str, style: str) -> str:
    """The part of a policy that lets this script run and this style count, and no other."""
    return f"script-src 'sha256-{_hash(code)}'; style-src 'sha256-{_hash(style)}'"


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
