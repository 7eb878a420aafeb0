"""The web application: static assets, and questions that take JSON and never run user code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from wane.describe.json_text import read_json
from wane.errors import InvalidDescription
from wane.web import answers
from wane.web.presets import PRESETS
from wane.web.workers import Answer, Workers

MOST_BYTES = 256 * 1024
SLOWEST_BODY = 10.0  # seconds until a client that dribbles is dropped

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

QUESTIONS = {
    "/api/certify": answers.certified,
    "/api/curve": answers.curved,
    "/api/calibrate": answers.calibrated,
    "/api/read": answers.read,
    "/api/page": answers.page,
    "/api/code": answers.code,
}

Endpoint = Callable[[Request], Awaitable[Response]]


def application(hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")) -> Starlette:
    """Return the application; it answers only to these host names."""
    workers = Workers()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            workers.close()

    routes = [Route(path, _asset(*found), methods=["GET"]) for path, found in ASSETS.items()]
    routes.append(Route("/api/presets", _presets, methods=["GET"]))
    routes += [
        Route(path, _question(ask.__name__, workers), methods=["POST"])
        for path, ask in QUESTIONS.items()
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={404: _not_here, 405: _not_here},
        lifespan=lifespan,
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


def _question(question: str, workers: Workers) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            asked = await _body(request)
        except ClientDisconnect:
            return _refused("the client has gone", 400)
        except _Refused as refused:
            return _refused(str(refused), refused.status)
        made = await _unless_gone(request, question, asked, workers)
        if isinstance(made.data, answers.Download):
            return Response(made.data.content, media_type=made.data.media_type, headers=HEADERS)
        return JSONResponse(made.data, status_code=made.status, headers=HEADERS)

    return answer


async def _unless_gone(
    request: Request, question: str, asked: Mapping[str, Any], workers: Workers
) -> Answer:
    """The answer; its process is ended if the client goes before."""
    made = Answer({"error": "the client has gone", "field": ""}, 400)
    async with anyio.create_task_group() as both:

        async def watch() -> None:
            while not await request.is_disconnected():
                await anyio.sleep(0.2)
            both.cancel_scope.cancel()

        both.start_soon(watch)
        made = await workers.ask(question, asked)
        both.cancel_scope.cancel()
    return made


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
        asked = read_json(raw, "the body")
    except InvalidDescription as error:
        raise _Refused(str(error), 400) from None
    if not isinstance(asked, dict):
        raise _Refused("the body must be a JSON object", 400)
    return asked
