"""Serve the page on this machine; nothing else is reached and nothing is kept."""

from __future__ import annotations

import ipaddress

from wane.describe import check
from wane.errors import InvalidDescription, MissingExtra


def serve(host: str = "127.0.0.1", port: int = 8765) -> None:
    """Serve until interrupted; on the loopback interface unless told otherwise."""
    check.whole("port", port, least=0, most=65535)
    if not _loopback(host):
        raise InvalidDescription(
            f"host must be a loopback address, got {host!r:.60}; the page has no login, so put a "
            "reverse proxy with one in front of it."
        )
    try:
        import uvicorn

        from wane.web.app import application
    except ImportError:
        raise MissingExtra("The web page needs starlette and uvicorn; install wane[web].") from None
    uvicorn.run(application(), host=host, port=port, log_level="warning", server_header=False)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
