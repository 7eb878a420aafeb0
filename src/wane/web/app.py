"""The web application: static assets, and questions that take JSON and never run user code."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from wane.errors import InvalidDescription, WaneError
from wane.web import answers
from wane.web.presets import PRESETS

MOST_BYTES = 256 * 1024
SLOWEST_BODY = 10.0  # seconds until a client that dribbles is dropped
AT_ONCE = 2  # computations side by side; the others wait in line
MOST_WAITING = 64

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

ASSETS = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/description.js": ("description.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

QUESTIONS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | answers.Download]] = {
    "/api/certify": answers.certified,
    "/api/curve": answers.curved,
    "/api/calibrate": answers.calibrated,
    "/api/read": answers.read,
    "/api/page": answers.page,
    "/api/code": answers.code,
}

Endpoint = Callable[[Request], Awaitable[Response]]


class _Line:
    """Lets a few computations run at once and a few more wait; the rest are sent away."""

    def __init__(self) -> None:
        self._limit: anyio.CapacityLimiter | None = None
        self._inside = 0

    async def ask(self, question: Callable[[], Any]) -> Any:
        """Return the answer, computed beside the event loop; None if the line is full."""
        if self._inside >= AT_ONCE + MOST_WAITING:
            return None
        self._limit = self._limit or anyio.CapacityLimiter(AT_ONCE)
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(question, limiter=self._limit)
        finally:
            self._inside -= 1


def application(hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")) -> Starlette:
    """Return the application; it answers only to these host names."""
    line = _Line()
    routes = [Route(path, _asset(*found), methods=["GET"]) for path, found in ASSETS.items()]
    routes.append(Route("/api/presets", _presets, methods=["GET"]))
    routes += [
        Route(path, _question(ask, line), methods=["POST"]) for path, ask in QUESTIONS.items()
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={404: _not_here, 405: _not_here},
    )


def _asset(name: str, media_type: str) -> Endpoint:
    content = files("wane.web").joinpath("assets", name).read_bytes()

    async def send(request: Request) -> Response:
        return Response(content, media_type=media_type, headers=HEADERS)

    return send


async def _presets(request: Request) -> Response:
    return JSONResponse(PRESETS, headers=HEADERS)


async def _not_here(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _refused("there is nothing at this address for this method", status)


def _question(ask: Callable[[Mapping[str, Any]], Any], line: _Line) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            asked = await _body(request)
            made = await line.ask(partial(ask, asked))
        except InvalidDescription as error:
            return JSONResponse(answers.complaint(error), status_code=422, headers=HEADERS)
        except WaneError as error:
            return JSONResponse(answers.complaint(error), status_code=409, headers=HEADERS)
        except ClientDisconnect:
            return _refused("the client has gone", 400)
        except _Refused as refused:
            return _refused(str(refused), refused.status)
        if made is None:
            return _refused("too many questions at once; ask again in a moment", 503)
        if isinstance(made, answers.Download):
            return Response(made.content, media_type=made.media_type, headers=HEADERS)
        return JSONResponse(made, headers=HEADERS)

    return answer


class _Refused(Exception):
    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


def _refused(words: str, status: int) -> Response:
    return JSONResponse({"error": words, "field": ""}, status_code=status, headers=HEADERS)


async def _body(request: Request) -> Mapping[str, Any]:
    # a page of another site can send plain text here without asking, but not JSON
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise _Refused("the body must be application/json", 415)
    raw = b""
    with anyio.move_on_after(SLOWEST_BODY) as patience:
        async for part in request.stream():
            raw += part
            if len(raw) > MOST_BYTES:
                raise _Refused(f"the body must have at most {MOST_BYTES} bytes", 413)
    if patience.cancelled_caught:
        raise _Refused("the body took too long to arrive", 408)
    try:
        asked = json.loads(raw)
        json.dumps(asked, ensure_ascii=False).encode()  # JSON can spell half a character
    except (ValueError, RecursionError):
        raise _Refused("the body must be valid JSON", 400) from None
    if not isinstance(asked, dict):
        raise _Refused("the body must be a JSON object", 400)
    return asked
