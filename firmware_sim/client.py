"""A client of the control port, for the command line, scenarios and tests of other programs."""

import json
import os
import socket
from pathlib import Path
from typing import Any

DEFAULT_FILES = (Path("build/demo/ports.json"), Path("build/demo/run.json"))
ENVIRONMENT = "FIRMWARE_SIM_CONTROL"
REFUSED, TIMED_OUT, UNREACHABLE = 3, 4, 5


class ControlError(Exception):
    """A command that was not done; ``code`` is the command line's exit code for it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def find_control(address: str | None, ports_file: Path | None) -> str:
    """The control port's ``host:port``: as given, from the environment, or from a ports or run file. Raises ControlError."""
    if address or (address := os.environ.get(ENVIRONMENT)):
        return address.removeprefix("tcp://")
    files = (ports_file,) if ports_file is not None else DEFAULT_FILES
    problems = []
    for file in files:
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            return str(document.get("control") or document["sim_control_url"]).removeprefix("tcp://")
        except (OSError, ValueError, KeyError, AttributeError) as error:
            problems.append(f"{file}: {error}")
    raise ControlError(
        f"no simulator known ({'; '.join(problems)}); give --control host:port, --ports-file FILE or {ENVIRONMENT}",
        UNREACHABLE,
    )


def ask(address: str, do: str, timeout_s: float = 5.0, **arguments: Any) -> Any:
    """Send one command and return its result. Raises ControlError: refused, timed out, or nobody there."""
    host, _, port = address.rpartition(":")
    line = json.dumps({"do": do} | {key: value for key, value in arguments.items() if value is not None})
    try:
        with socket.create_connection((host, int(port)), timeout_s) as connection:
            connection.sendall(line.encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
    except TimeoutError as error:
        raise ControlError(f"{address} did not answer within {timeout_s:g} s", TIMED_OUT) from error
    except (OSError, ValueError) as error:
        raise ControlError(f"no simulator at {address}: {error}", UNREACHABLE) from error
    if not answer["ok"]:
        raise ControlError(answer["error"], answer["code"])
    return answer["result"]
