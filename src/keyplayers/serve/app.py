"""The addresses of the page, and who is let in: nobody without the token, and no page of another site."""

import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from .._base.optional import require
from ..errors import InputError, KeyPlayersError
from ..report.page import asset, environment, own_only
from .session import About, Choice, Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]

# what every answer says: keep it to yourself, take it for nothing but what it is called
_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
# of an answer that has no policy of its own
_POLICY = "default-src 'none'; frame-ancestors 'none'"
# an explanation stands in a frame with no origin; its own policy, in the page, names the script that may run
_FRAME_POLICY = "sandbox allow-scripts; frame-ancestors 'self'"
# variables that one address may ask for besides the target
_MAX_ALSO = 100


def make_app(session: Session, token: str, hosts: Collection[str]) -> _App:
    """The application, for any ASGI server.

    Parameters
    ----------
    token
        The first part of every address that is answered: ``/TOKEN/``.
    hosts
        What a browser may call this server ("127.0.0.1:8000"): another name is that of another site, which has
        been pointed at this machine.

    Raises
    ------
    MissingPackageError
        Starlette or Jinja2 is not installed (the extra "serve").
    """
    require("starlette"), require("jinja2")
    from starlette.applications import Starlette

    answers = _Answers(session)
    return Guard(
        cast(_App, Starlette(routes=answers.routes(), exception_handlers={KeyPlayersError: _explain_error})),
        token,
        hosts,
    )


class Guard:
    """Lets in who has the token and calls this server by its name; the others learn nothing."""

    def __init__(self, app: _App, token: str, hosts: Collection[str]) -> None:
        self.app, self.token = app, token.encode()
        self.hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        async def send_guarded(message: _Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(message.get("headers", ()))
            await send(message)

        if scope["type"] == "http" and self._lets_in(scope):
            await self.app(scope, receive, send_guarded)
        elif scope["type"] == "http":
            await send_guarded({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"refused"})

    def _lets_in(self, scope: _Message) -> bool:
        given = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        # every request is compared in full, in the same time
        knows = secrets.compare_digest(given.encode("utf-8", "surrogateescape"), self.token)
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        called = len(hosts) == 1 and hosts[0] in self.hosts
        # a browser says where a request that changes something comes from
        own = all(origin.removeprefix(b"http://") in self.hosts for origin in origins)
        return knows and called and own


def _with_headers(given: Any) -> list[tuple[bytes, bytes]]:
    said = {name for name, _ in given}
    added = {"content-security-policy": _POLICY} | _HEADERS
    return [
        *given,
        *((name.encode(), text.encode()) for name, text in added.items() if name.encode() not in said),
    ]


class _Answers:
    """What each address answers."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.code, self.style = _own("serve.js"), asset("page.css") + _own("serve.css")
        self.text = environment().from_string(_own("serve.html")).render(code=self.code, style=self.style)

    def routes(self) -> "list[Route]":
        from starlette.routing import Route

        return [
            Route("/{token}/", self.page),
            Route("/{token}/search", self.search),
            Route("/{token}/account/{id:int}", self.account),
            Route("/{token}/explanation/{id:int}/{about}", self.explanation),
            Route("/{token}/evidence/{id:int}/{choice}", self.choose, methods=["POST"]),
            Route("/{token}/reset", self.reset, methods=["POST"]),
        ]

    def page(self, request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        policy = (
            f"default-src 'none'; {own_only(self.code, self.style)}; connect-src 'self'; frame-src 'self'; "
            "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return HTMLResponse(self.text, headers={"content-security-policy": policy})

    def search(self, request: "Request") -> "Response":
        return _json(self.session.search(request.query_params.get("text", "")))

    def account(self, request: "Request") -> "Response":
        also = _positions(request.query_params.get("also", ""))
        return _json(self.session.account(request.path_params["id"], also))

    def explanation(self, request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        about, save = request.path_params["about"], "save" in request.query_params
        if about not in ("players", "flip"):
            raise InputError(f"an explanation is about players or flip, got {about!r}")
        text = self.session.page(request.path_params["id"], cast(About, about), full=save)
        headers = {"content-security-policy": _FRAME_POLICY}
        if save:
            headers["content-disposition"] = f'attachment; filename="explanation-{about}.html"'
        return HTMLResponse(text, headers=headers)

    def choose(self, request: "Request") -> "Response":
        self.session.choose(request.path_params["id"], _choice(request.path_params["choice"]))
        return _json({})

    def reset(self, request: "Request") -> "Response":
        self.session.reset()
        return _json({})


def _positions(text: str) -> list[int]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > _MAX_ALSO or not all(_is_number(part) for part in parts):
        raise InputError(f"also must be at most {_MAX_ALSO} numbers with commas between them")
    return [int(part) for part in parts]


def _choice(text: str) -> Choice:
    if text in ("given", "none"):
        return cast(Choice, text)
    if not _is_number(text):
        raise InputError(f"evidence is given, none or the number of a state, got {text!r}")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _json(data: Any) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse(data)


def _explain_error(request: "Request", error: Exception) -> "Response":
    """A sentence; in a frame as such."""
    from starlette.responses import JSONResponse, PlainTextResponse

    if "/explanation/" in request.url.path:
        return PlainTextResponse(
            str(error), 400, headers={"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        )
    return JSONResponse({"error": str(error)}, 400)


def _own(name: str) -> str:
    """A file of this room."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
