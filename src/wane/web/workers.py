"""Questions are answered in processes of their own, which can be ended.

A question that takes long must not hold up the others: after a moment its process steps back behind
newer ones, and when the time limit passes or the client has gone it is ended.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing as mp
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import anyio

from wane.errors import InvalidDescription, WaneError

LIMIT = 60.0
"""Seconds after which a question is refused."""
MOMENT = 0.4
"""Seconds for which a question runs with the priority of new ones."""
STEP = 5
"""By how much its priority falls then: newer ones go first, and it is not starved by others."""
NEW_AT_ONCE = 2
MOST_PROCESSES = 12
MOST_WAITING = 64
MOST_MEMORY = 2**31
"""Bytes of data that one process may hold."""

_HAS_SERVER = "forkserver" in mp.get_all_start_methods()
PRELOADED = ("wane.web.answers", "wane.theorems.registry", "wane.audit")


@dataclass(frozen=True)
class Answer:
    """What a process sends back: data and the status of the response."""

    data: Any
    status: int = 200


TOO_MANY = Answer({"error": "too many questions at once; ask again in a moment", "field": ""}, 503)
TOO_LONG = Answer(
    {
        "error": f"no answer within {LIMIT:g} seconds; ask for fewer steps or phases, or use the "
        "Python library, which has no limit",
        "field": "",
    },
    504,
)
TOO_LARGE = Answer(
    {
        "error": "this question needs more memory than the page allows; use the Python library",
        "field": "",
    },
    507,
)


def _answer(question: str, asked: Mapping[str, Any]) -> Answer:
    from wane.web import answers

    try:
        return Answer(getattr(answers, question)(asked))
    except InvalidDescription as error:
        return Answer(answers.complaint(error), 422)
    except WaneError as error:
        return Answer(answers.complaint(error), 409)
    except MemoryError:
        return TOO_LARGE


def _serve(connection: Connection) -> None:
    """Answer one question after another, until the connection is closed."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    for name in PRELOADED:
        importlib.import_module(name)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            connection.send(_answer(*connection.recv()))


@dataclass(eq=False)
class _Worker:
    """One process and the pipe to it."""

    process: Any
    connection: Connection
    stepped_back: bool = False

    def step_back(self) -> None:
        """Let newer questions go first."""
        self.stepped_back = True
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, STEP)

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


@dataclass(eq=False)
class Workers:
    """A bounded number of processes; the newest question is taken up first."""

    _idle: list[_Worker] = field(default_factory=list)
    _busy: set[_Worker] = field(default_factory=set)
    _waiting: list[anyio.Event] = field(default_factory=list)

    async def ask(self, question: str, asked: Mapping[str, Any]) -> Answer:
        """Return the answer of the function of this name in `wane.web.answers`, or a refusal."""
        if len(self._waiting) >= MOST_WAITING:
            return TOO_MANY
        with anyio.move_on_after(LIMIT):
            await self._turn()
            worker = self._idle.pop() if self._idle else await anyio.to_thread.run_sync(_started)
            self._busy.add(worker)
            made: Answer | None = None
            try:
                made = await self._asked(worker, question, asked)
                return made
            finally:
                self._leave(worker, reusable=made is not None and not worker.stepped_back)
        return TOO_LONG

    async def _asked(self, worker: _Worker, question: str, asked: Mapping[str, Any]) -> Answer:
        worker.connection.send((question, asked))
        with anyio.move_on_after(MOMENT) as moment:
            await anyio.wait_readable(worker.connection)
        if moment.cancelled_caught:
            worker.step_back()
            self._next()
            await anyio.wait_readable(worker.connection)
        try:
            found: Answer = worker.connection.recv()
        except (EOFError, OSError):
            return TOO_LARGE  # the system ended it
        return found

    async def _turn(self) -> None:
        """Wait until few other questions are new and few processes are busy."""
        while not self._free():
            mine = anyio.Event()
            self._waiting.append(mine)
            try:
                await mine.wait()
            finally:
                if mine in self._waiting:
                    self._waiting.remove(mine)

    def _free(self) -> bool:
        new = sum(not worker.stepped_back for worker in self._busy)
        return new < NEW_AT_ONCE and len(self._busy) < MOST_PROCESSES

    def _leave(self, worker: _Worker, *, reusable: bool) -> None:
        self._busy.discard(worker)
        if reusable and len(self._idle) < NEW_AT_ONCE:
            self._idle.append(worker)
        else:
            worker.end()
        self._next()

    def _next(self) -> None:
        if self._waiting:
            self._waiting.pop().set()

    def close(self) -> None:
        """End all processes."""
        for worker in [*self._idle, *self._busy]:
            worker.end()
        self._idle.clear()
        self._busy.clear()


def _started() -> _Worker:
    """A new process; from a server that has imported everything, where the system has one."""
    context: Any = mp.get_context("forkserver" if _HAS_SERVER else "spawn")
    if _HAS_SERVER:
        context.set_forkserver_preload([*PRELOADED, __name__])
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)
