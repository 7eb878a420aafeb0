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

from wane.describe.files import read_json
from wane.errors import InvalidDescription, WaneError
from wane.web import answers
from wane.web.presets import PRESETS
from wane.web.table import Desk
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
    "/remedies.js": ("remedies.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

TABLE_ASSETS = {
    "/table": ("table.html", "text/html; charset=utf-8"),
    "/table.js": ("table.js", "text/javascript; charset=utf-8"),
}
"""There only if the holder of a table asked for its page."""

TABLE_HEADERS = HEADERS | {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"] + "; frame-src 'self'"
}
CERTIFICATE_HEADERS = HEADERS | {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    )
}
"""A certificate has no script; its style stands inside it."""

QUESTIONS = {
    "/api/certify": answers.certified,
    "/api/change": answers.helped,
    "/api/curve": answers.curved,
    "/api/calibrate": answers.calibrated,
    "/api/read": answers.read,
    "/api/page": answers.page,
    "/api/code": answers.code,
}

Endpoint = Callable[[Request], Awaitable[Response]]
TableQuestion = Callable[[Mapping[str, Any]], dict[str, Any]]


def application(
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]"), desk: Desk | None = None
) -> Starlette:
    """Return the application; it answers only to these host names, and of one table if asked to."""
    workers = Workers()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            workers.close()

    routes = [Route(path, _asset(*found), methods=["GET"]) for path, found in ASSETS.items()]
    routes.append(Route("/api/presets", _presets(table=desk is not None), methods=["GET"]))
    routes += [
        Route(path, _question(ask.__name__, workers), methods=["POST"])
        for path, ask in QUESTIONS.items()
    ]
    routes += [] if desk is None else _table_routes(desk)
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={404: _not_here, 405: _not_here},
        lifespan=lifespan,
    )


def _asset(name: str, media_type: str, headers: Mapping[str, str] = HEADERS) -> Endpoint:
    content = files("wane.web").joinpath("assets", name).read_bytes()

    async def send(request: Request) -> Response:
        return Response(content, media_type=media_type, headers=headers)

    return send


def _presets(*, table: bool) -> Endpoint:
    async def send(request: Request) -> Response:
        return JSONResponse({"presets": PRESETS, "table": table}, headers=HEADERS)

    return send


def _table_routes(desk: Desk) -> list[Route]:
    async def certificate(request: Request) -> Response:
        text = desk.page(request.path_params["name"])
        if text is None:
            return _refused("there is nothing at this address for this method", 404)
        return Response(text, media_type="text/html", headers=CERTIFICATE_HEADERS)

    return [
        *(
            Route(path, _asset(*found, TABLE_HEADERS), methods=["GET"])
            for path, found in TABLE_ASSETS.items()
        ),
        *(
            Route(f"/api/table/{ask.__name__}", _table_question(ask, desk), methods=["POST"])
            for ask in (desk.names, desk.check, desk.fit)
        ),
        Route("/table/certificate/{name}", certificate, methods=["GET"]),
    ]


def _table_question(ask: TableQuestion, desk: Desk) -> Endpoint:
    """Only this page may ask, with the token that its holder was told; a fit is never cut off."""

    async def answer(request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.url.netloc}":
            return _refused("only the page itself may ask", 403)
        if not desk.admits(request.headers.get("x-wane-token", "")):
            return _refused("token must be the one that wane serve printed; open that address", 403)
        try:
            made = await anyio.to_thread.run_sync(ask, await _body(request))
        except ClientDisconnect:
            return _refused("the client has gone", 400)
        except _Refused as refused:
            return _refused(str(refused), refused.status)
        except WaneError as error:
            status = 422 if isinstance(error, InvalidDescription) else 409
            return JSONResponse(answers.complaint(error), status_code=status, headers=HEADERS)
        return JSONResponse(made, headers=HEADERS)

    return answer


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
