"""The web page under load, slow clients and nonsense: it answers in words or not at all."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import pytest

from trust.tally import COUNTS
from wane.web.app import ASSETS, MOST_BYTES
from wane.web.presets import PRESETS

RATE, SECONDS, CONNECTIONS = 200, 5, 40
QUESTION = json.dumps({"run": PRESETS[0]["run"], "delta": 1e-5}).encode()


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    fields = {"Host": "127.0.0.1", "Content-Type": "application/json"} | headers
    if body:
        fields.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one answer and return its status and body; 0 if the connection was closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0, b""
    lines = head.decode().lower().split("\r\n")
    length = next(
        (int(line.split(":")[1]) for line in lines if line.startswith("content-length")), 0
    )
    return int(lines[0].split()[1]), await reader.readexactly(length)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The real thing in a process of its own; yields its port and what it said so far."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "wane", "serve", "--port", str(port)],
            stdout=said,
            stderr=said,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield port, log
    process.terminate()
    process.wait(timeout=30)
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


async def worker(port: int, jobs: asyncio.Queue, answers: list) -> None:
    """Ask over one connection, as long as it holds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (asked := await jobs.get()) is not None:
        writer.write(asked)
        answers.append(await reply(reader))
        if not answers[-1][0]:
            break
    writer.close()


async def load(port: int) -> list:
    jobs: asyncio.Queue = asyncio.Queue()
    answers: list = []
    workers = [asyncio.create_task(worker(port, jobs, answers)) for _ in range(CONNECTIONS)]
    pages = [request("GET", path) for path in ASSETS]
    began = time.monotonic()
    for number in range(RATE * SECONDS):
        # one in eight is a computation; the others are what a browser fetches
        asked = request("POST", "/api/certify", QUESTION) if number % 8 == 0 else None
        jobs.put_nowait(asked or pages[number % len(pages)])
        await asyncio.sleep(max(0.0, began + (number + 1) / RATE - time.monotonic()))
    for _ in workers:
        jobs.put_nowait(None)
    await asyncio.gather(*workers)
    return answers


@pytest.mark.slow
def test_200_requests_a_second(server):
    """Each is answered, or told in words to come back; equal questions get equal answers."""
    port, _ = server
    answers = asyncio.run(load(port))
    statuses = [status for status, _ in answers]
    assert len(answers) == RATE * SECONDS
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) > 0.8 * len(statuses)
    computed = {body for status, body in answers if status == 200 and body.startswith(b'{"cert')}
    assert len(computed) == 1
    for status, body in answers:
        assert status == 200 or json.loads(body)["error"].startswith("too many questions")
    COUNTS["requests served under load"] += len(answers)


NONSENSE = {
    "no http": b"\x00\x01\x02\x03" * 100 + b"\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300) + b"\r\n\r\n",
    "endless header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    "negative length": request("POST", "/api/certify", Content_Length="-5"),
    "length in words": request("POST", "/api/certify", Content_Length="many"),
    "two lengths": request("POST", "/api/certify", b"{}", Content_Length="2, 3"),
    "bad chunks": request("POST", "/api/certify", Transfer_Encoding="chunked") + b"zz\r\n{}\r\n",
    "other version": b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "wrong host": request("GET", "/", Host="evil.example"),
    "path": request("GET", "/../../etc/passwd"),
    "nul in path": request("GET", "/%00%ff"),
    "long path": request("GET", "/" + "a" * 50_000),
    "method": request("BREW", "/"),
    "too large": request("POST", "/api/certify", b"x" * (MOST_BYTES + 1)),
    "not json": request("POST", "/api/certify", b"{" * 1000),
    "deep json": request("POST", "/api/certify", b"[" * 100_000),
    "not utf-8": request("POST", "/api/certify", b'{"run": "\xff\xfe"}'),
    "huge number": request("POST", "/api/certify", b'{"run": {}, "delta": 1e999}'),
    "long number": request("POST", "/api/certify", b'{"delta": ' + b"9" * 6000 + b"}"),
    "surrogate": request("POST", "/api/read", b'{"text": "\\ud800"}'),
    "surrogate name": request("POST", "/api/certify", b'{"run": {"\\udfff": 1}, "delta": 1e-5}'),
    "empty": request("POST", "/api/calibrate", b"{}"),
    "null": request("POST", "/api/curve", b'{"run": null, "over": null}'),
    "points": request(
        "POST",
        "/api/curve",
        json.dumps(
            {
                "run": PRESETS[0]["run"],
                "delta": 1e-5,
                "over": "steps",
                "start": 1,
                "stop": 10**12,
                "points": 10**9,
            }
        ).encode(),
    ),
}


HARMLESS = {"other version"}  # the server answers as it would have in its own


async def one(port: int, sent: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return await asyncio.wait_for(reply(reader), 120)
    except ConnectionError:
        return 0, b""
    finally:
        writer.close()


def test_nonsense_is_refused_and_the_next_one_served(server):
    port, log = server
    served = 0
    for name, sent in NONSENSE.items():
        status, body = asyncio.run(one(port, sent))
        assert status == 0 or 400 <= status < 500 or status == 200, (name, status, body)
        assert status != 200 or name in HARMLESS, name
        assert b"Traceback" not in body and b"/src/" not in body
        status, _ = asyncio.run(one(port, request("GET", "/")))
        assert status == 200, f"the server is gone after {name}"
        served += 2
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]
    COUNTS["malformed requests"] += len(NONSENSE)


def test_random_bytes(server):
    port, log = server
    sent = 0
    for length in (1, 10, 100, 1000, 10_000) * 6:
        asyncio.run(one(port, os.urandom(length) + b"\r\n\r\n"))
        asyncio.run(one(port, request("POST", "/api/read", os.urandom(length))))
        sent += 2
    assert asyncio.run(one(port, request("GET", "/")))[0] == 200
    assert "Traceback" not in log.read_text()
    COUNTS["malformed requests"] += sent


async def crawl(port: int) -> list[int]:
    """A hundred clients that never finish, and a few that do."""
    slow = []
    for number in range(100):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        whole = request("POST", "/api/certify", QUESTION)
        writer.write(whole[: len(whole) * (number % 10) // 10 + 1])
        slow.append((reader, writer))
    statuses = [(await one(port, request("GET", "/")))[0] for _ in range(10)]
    for number, (_, writer) in enumerate(slow):
        if number % 2:
            writer.transport.abort()
        else:
            writer.close()
    return statuses


def test_slow_clients_do_not_keep_others_waiting(server):
    port, log = server
    assert asyncio.run(crawl(port)) == [200] * 10
    assert asyncio.run(one(port, request("POST", "/api/certify", QUESTION)))[0] == 200
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_a_body_that_dribbles_is_dropped(server):
    """After its patience, which the application states, the server says so."""
    port, _ = server

    async def dribble() -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", "/api/certify", Content_Length="1000"))
        writer.write(b"{")
        found = await asyncio.wait_for(reply(reader), 120)
        writer.close()
        return found

    status, body = asyncio.run(dribble())
    assert status == 408
    assert "too long" in json.loads(body)["error"]


PHASES = [
    {"repeat": 100 + n, "step_size": 0.1, "noise": {"multiplier": 0.5 + n / 1000}}
    for n in range(400)
]
ENDLESS = json.dumps(
    {
        "run": {
            "objective": {"gradient_bound": 1.0, "smoothness": 1.0, "strong_convexity": 0.0},
            "records": 100_000,
            "adjacency": "zero-out",
            "batches": {"kind": "poisson", "size": 100},
            "domain": {"diameter": 10.0},
            "schedule": PHASES,
        },
        "delta": 1e-5,
        "over": "noise",
        "start": 0.01,
        "stop": 100.0,
        "points": 40,
    }
).encode()
"""A question that takes minutes: a curve of forty points through a ball, 400 kinds of noise."""


async def beside_the_endless(port: int) -> tuple[float, int, bytes]:
    """Ask a cheap question while ten endless ones are pending.

    Returns the seconds it took, its status, and what the endless ones had been told by then.
    """
    pending = []
    for _ in range(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", "/api/curve", ENDLESS))
        pending.append((reader, writer))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    status, _ = await one(port, request("POST", "/api/certify", QUESTION))
    took, told = time.monotonic() - began, b""
    for reader, writer in pending:
        with contextlib.suppress(TimeoutError):
            told += await asyncio.wait_for(reader.read(1000), 0.01)
        writer.transport.abort()
    return took, status, told


def test_a_cheap_question_does_not_wait_for_endless_ones(server):
    port, log = server
    asyncio.run(one(port, request("POST", "/api/certify", QUESTION)))  # everything is imported
    took, status, told = asyncio.run(beside_the_endless(port))
    assert status == 200
    assert b"504" not in told, "it waited until an endless one had used up its time"
    COUNTS["milliseconds for a cheap question beside ten endless ones"] += round(1000 * took)
    # the clients have gone, and so have their processes: ten more find room at once
    _, status, told = asyncio.run(beside_the_endless(port))
    assert status == 200
    assert b"504" not in told
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_an_endless_question_is_refused_in_words(server):
    status, body = asyncio.run(one(server[0], request("POST", "/api/curve", ENDLESS)))
    assert status == 504
    assert "no answer within 60 seconds" in json.loads(body)["error"]


@pytest.mark.slow
def test_half_a_head_is_closed(server):
    async def half() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server[0])
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        found = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return found

    assert b"200" not in asyncio.run(half())


def test_a_key_of_many_parts_is_refused_before_it_is_read(server):
    """Forty thousand bytes of dots would take gigabytes."""
    text = json.dumps({"text": "a" + ".a" * 20_000 + " = 1\n"}).encode()
    status, body = asyncio.run(one(server[0], request("POST", "/api/read", text)))
    assert status == 422
    assert "parts" in json.loads(body)["error"]
