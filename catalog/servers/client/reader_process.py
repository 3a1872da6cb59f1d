"""Documents of strangers, read by a program in a cell of its own.

The reader has no network, no files but its own, and nobody's environment; it gets the document by a
pipe, and what it answers is bounded and is checked again by who asked. Where no cell can be made
and none is required, it is a child process with the same limits. Starts a process, so only workers
ask.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

from catalog.formats import reader_program
from catalog.formats.files import RefusedError
from catalog.servers.cell.command import PROXY_PORT, READER_USER, Cell, build_command, interpreter
from catalog.servers.cell.kernel_limits import compile_filter
from catalog.servers.cell.support import (
    cell_groups,
    cell_problem,
    cells_required,
    cells_wanted,
    find_bwrap,
)
from catalog.servers.cell.visible_files import program_files
from catalog.servers.client import process_guard
from catalog.servers.client.server_problems import Reason, ServerProblemError

MB = 1024 * 1024
_ROOT = Path(reader_program.__file__).parents[2]
# Of Pegboard itself, what the formats of documents import.
_OWN = (
    *("catalog/__init__.py", "catalog/formats", "catalog/words"),
    *("acl/__init__.py", "acl/platform/__init__.py", "acl/platform/strict_json.py"),
    "acl/platform/open_registry.py",
)
_START = (
    "import sys; sys.path[:0] = sys.argv[1:]; "
    "from catalog.formats import reader_program; sys.exit(reader_program.main())"
)
_ENVIRONMENT = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
_LIBRARIES = "pillow.libs"
_PART = 65_536
What = Literal["api", "archive", "picture", "pattern", "page"]


@dataclass(frozen=True, slots=True)
class ReaderBounds:
    """Limits of one reading. `seconds` is the time in which it must answer."""

    seconds: float = 120
    cpu_seconds: int = 60
    memory_bytes: int = 2 * 1024 * MB
    answer_bytes: int = 64 * MB


BOUNDS = ReaderBounds()


def read_apart(
    document: bytes,
    options: Mapping[str, Any],
    *,
    into: IO[bytes],
    what: What = "api",
    bounds: ReaderBounds = BOUNDS,
) -> None:
    """Write the reader's answer, unchecked; RefusedError beyond its limits.

    ServerProblemError where a cell is required and none can be made.
    """
    problem = cell_problem() if cells_wanted() else ""
    if problem and cells_required():
        raise ServerProblemError(Reason.NO_CELL, f"Documents are read only in one. {problem}")
    limits: dict[str, Any] = {
        "memory_bytes": bounds.memory_bytes,
        "processes": 8,
        "cpu_seconds": bounds.cpu_seconds,
        "file_bytes": MB,
        "open_files": 64,
    }
    folders = dict.fromkeys(str(path.parent) for path in _packages(what))
    arguments = ["-I", "-S", "-c", _START, str(_ROOT), *folders]
    command = [str(Path(sys.executable)), *arguments]
    if cells_wanted() and not problem:
        cell = Cell(readable=tuple(reader_files(what)), user=READER_USER)
        command = build_command(find_bwrap(), [str(interpreter()), *arguments], cell, home=None)
        limits["cell"] = process_guard.describe_cell(
            compile_filter(), listener=None, port=PROXY_PORT, groups=cell_groups()
        )
    request = {"what": what, "memory_bytes": bounds.memory_bytes, "options": dict(options)}
    stated = json.dumps(request, separators=(",", ":")).encode()
    _run(process_guard.start_command(limits, command), stated + b"\n" + document, bounds, into)


@cache
def reader_files(what: What = "api") -> list[Path]:
    """Return what the reader may see: its interpreter, the formats, and the packages they need."""
    sources = [_ROOT / name for name in _OWN]
    return [*program_files([str(interpreter())]), *sources, *_packages(what)]


def _packages(what: What) -> list[Path]:
    paths = []
    names = reader_program.PACKAGES
    for name in names + (reader_program.PICTURE_PACKAGES if what == "picture" else ()):
        if (spec := find_spec(name)) and spec.origin:
            origin = Path(spec.origin)
            paths.append(origin.parent if origin.name == "__init__.py" else origin)
    if what == "picture":
        # Beside Pillow, its wheel has the libraries that its decoders need.
        paths += [folder for path in paths[-1:] if (folder := path.with_name(_LIBRARIES)).is_dir()]
    return paths


def _run(command: list[str], content: bytes, bounds: ReaderBounds, into: IO[bytes]) -> None:
    # The guard's parent is the thread that starts it, which waits here until it has ended.
    process = subprocess.Popen(  # noqa: S603 - a list from beginning to end
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )
    feeder = threading.Thread(target=_feed, args=(process, content), name="reader", daemon=True)
    feeder.start()
    deadline = time.monotonic() + bounds.seconds
    try:
        _receive(process, bounds, deadline, into)
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:  # it has closed its output, and goes on
        raise _too_slow(bounds) from None
    finally:
        _end(process)
        feeder.join(5)
    if process.returncode == process_guard.TOO_MUCH_MEMORY:
        raise RefusedError(f"needs more than {bounds.memory_bytes // MB:,} MB of memory to read")
    if process.returncode == process_guard.TOO_MUCH_CPU:
        raise RefusedError(f"needs more than {bounds.cpu_seconds:,} seconds of a CPU to read")
    if process.returncode:
        raise RefusedError(f"cannot be read: its reader ended with {process.returncode}")


def _feed(process: subprocess.Popen[bytes], content: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - it was opened with a pipe
    with contextlib.suppress(OSError), process.stdin as pipe:
        pipe.write(content)


def _receive(
    process: subprocess.Popen[bytes], bounds: ReaderBounds, deadline: float, into: IO[bytes]
) -> None:
    assert process.stdout is not None  # noqa: S101 - it was opened with a pipe
    taken = 0
    with process.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0, deadline - time.monotonic())):
                raise _too_slow(bounds)
            part = os.read(pipe.fileno(), _PART)
            if not part:
                return
            taken += len(part)
            if taken > bounds.answer_bytes:
                most = bounds.answer_bytes // MB
                raise RefusedError(f"takes more than {most:,} MB once it is read")
            into.write(part)


def _too_slow(bounds: ReaderBounds) -> RefusedError:
    return RefusedError(f"takes more than {bounds.seconds:g} seconds to read")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the guard, which ends whatever runs under it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
