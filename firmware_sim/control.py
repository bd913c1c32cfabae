"""The control port: one JSON object a line in, one a line out, over TCP on loopback.

A request is ``{"do": "fault_add", "kind": "leak", "rack": "r02", …}``; an answer ``{"ok": true, "result": …}`` or
``{"ok": false, "error": "what was wrong and what is allowed", "code": 3}`` (codes as the command line's exit codes). A
request's ``id`` comes back with its answer.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from firmware_sim.control_commands import COMMANDS, RefusedError

if TYPE_CHECKING:
    from firmware_sim.bench import Bench

_MAX_LINE = 1 << 20
REFUSED, USAGE = 3, 2


class ControlServer:
    """Serves any number of clients; every command is answered in the same turn of the loop, so none sees half a step."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def listen(self, host: str, port: int) -> int:
        self._server = await asyncio.start_server(self._serve, host, port, limit=_MAX_LINE)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self.answer(line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass  # the client went away, or its line had no end
        finally:
            self._writers.discard(writer)
            writer.close()

    def answer(self, line: bytes) -> dict[str, Any]:
        """Do what one line asks."""
        try:
            request = json.loads(line)
        except ValueError as error:
            return _no(f"not JSON: {error}", USAGE, None)
        if not isinstance(request, dict):
            return _no("a request is a JSON object with the key 'do'", USAGE, None)
        ident = request.pop("id", None)
        name = request.pop("do", None)
        command = COMMANDS.get(str(name))
        if command is None:
            return _no(f"no command {name!r}; known: {', '.join(sorted(COMMANDS))}", USAGE, ident)
        try:
            result = command(self._bench, **request)
        except RefusedError as error:
            return _no(str(error), REFUSED, ident)
        except TypeError as error:  # an unknown or missing argument
            return _no(f"{name}: {str(error).rpartition('() ')[2]}", USAGE, ident)
        return {"ok": True, "result": result, "id": ident}


def _no(message: str, code: int, ident: object) -> dict[str, Any]:
    return {"ok": False, "error": message, "code": code, "id": ident}
