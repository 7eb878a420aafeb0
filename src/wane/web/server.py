"""Serve the page on this machine; nothing else is reached and nothing is kept."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from wane import arguments
from wane.errors import InvalidDescription, MissingExtra, WaneError
from wane.web.table import Desk, LocalTable


class AddressInUse(WaneError):
    """The port cannot be had."""


def serve(
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    table: LocalTable | None = None,
    ready: Callable[[str], object] | None = None,
) -> None:
    """Serve until interrupted, on the loopback interface and nowhere else.

    `ready` is called with the page's address once it can be reached; port 0 takes a free one.  With
    a `table` it is the address of that table's page, which holds the token behind a #: browsers
    send no such part anywhere.
    """
    arguments.whole("port", port, least=0, most=65535)
    if not _loopback(host):
        raise InvalidDescription(
            f"host must be a loopback address, got {host!r:.60}; the page has no login, so put a "
            "reverse proxy with one in front of it."
        )
    try:
        import uvicorn

        from wane.web.app import application
        from wane.web.patience import ImpatientProtocol
    except ImportError:
        raise MissingExtra("The web page needs starlette and uvicorn; install wane[web].") from None
    desk = None if table is None else Desk(table)
    with _bound(host, port) as listening:
        if ready is not None:
            shown = f"[{host}]" if ":" in host else host
            page = "" if desk is None else f"table#{desk.token}"
            ready(f"http://{shown}:{listening.getsockname()[1]}/{page}")
        config = uvicorn.Config(
            application(desk=desk), http=ImpatientProtocol, log_level="warning", server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, or a refusal in words."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror or "it cannot be bound"
    raise AddressInUse(f"port {port} of {host} cannot be had: {reason}; choose another --port.")


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
