"""A server for the page, on the loopback address of this machine."""

import secrets
import socket
from collections.abc import Callable
from typing import Any

from .._base.optional import require
from ..errors import InputError
from .app import make_app
from .session import Session

#: nobody but this machine can ask there
ADDRESS = "127.0.0.1"
# bytes of the token: nobody guesses 256 bits
_TOKEN = 32


def run(session: Session, *, port: int = 0, tell: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    port
        0: one that is free.
    tell
        Called with the address of the page, which holds the token, once the port is open.

    Raises
    ------
    InputError
        The port is taken, or none.
    MissingPackageError
        uvicorn, Starlette or Jinja2 is not installed (the extra "serve").
    """
    uvicorn: Any = require("uvicorn")
    token = secrets.token_urlsafe(_TOKEN)
    with listen(port) as listening:
        host = f"{ADDRESS}:{listening.getsockname()[1]}"
        app = make_app(session, token, {host})
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none", server_header=False,
            proxy_headers=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        tell(f"http://{host}/{token}/")
        uvicorn.Server(config).run(sockets=[listening])


def listen(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    if not 0 <= port < 2**16:
        raise InputError(f"port must be from 0 to {2**16 - 1}, got {port}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} of {ADDRESS} cannot be opened: {error.strerror}") from error
    return listening
