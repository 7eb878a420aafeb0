"""Connections whose request does not arrive in time are closed."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

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
