"""Serve the page on this machine; nothing else is reached and nothing is kept."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from wane import arguments
from wane.errors import InvalidDescription, MissingExtra, WaneError
from wane.web.table import Desk, LocalTable

SECONDS = 10.0
"""For the head of a request, from the first byte of the connection or of the next request."""


class ImpatientProtocol(H11Protocol):
    """HTTP with a time limit for the head of each request, so that nobody holds a line for ever."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock with the connection."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stop the clock once a head is complete, and start it with the next one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._limit is None:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._limit = self.loop.call_later(SECONDS, self._close)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _close(self) -> None:
        self._limit = None
        if not self.transport.is_closing():
            self.transport.close()


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
        from wane.web.server import ImpatientProtocol
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
