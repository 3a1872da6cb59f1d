"""A server's processes: started with nothing of ours, and ended with all that they started."""

import json
import os
import shutil
import sys
import tempfile
from collections import deque
from dataclasses import asdict
from pathlib import Path

import anyio
from anyio.abc import Process

from catalog.servers.client import process_guard
from catalog.servers.client.package_digest import code_digest
from catalog.servers.client.server_limits import Limits
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import StdioServer

_BARE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_LIMITS = ("memory_bytes", "processes", "cpu_seconds", "file_bytes", "open_files")
_REASONS = {
    process_guard.TOO_MUCH_MEMORY: Reason.TOO_MUCH_MEMORY,
    process_guard.TOO_MANY_PROCESSES: Reason.TOO_MANY_PROCESSES,
    process_guard.NOT_STARTED: Reason.CANNOT_START,
}


class ServerProcess:
    """The keeper of a server, and through it the server itself."""

    def __init__(self, process: Process, scratch: Path | None, limits: Limits) -> None:
        self._process = process
        self._scratch = scratch
        self._limits = limits
        self._told: deque[bytes] = deque()
        self._told_bytes = 0

    @classmethod
    async def start(cls, server: StdioServer, limits: Limits) -> "ServerProcess":
        """Start the command as it is given: whoever calls has checked it."""
        await _check_code(server)
        scratch = None if server.home else Path(tempfile.mkdtemp(prefix="pegboard-server-"))
        home = server.home or scratch
        if server.home is not None:
            server.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = {name: asdict(limits)[name] for name in _LIMITS} | {"parent": os.getpid()}
        process = await anyio.open_process(
            [
                sys.executable,
                "-I",
                "-S",
                process_guard.__file__,
                json.dumps(held),
                "--",
                *server.command,
            ],
            env=_environment(server, str(home)),
            cwd=home,
            start_new_session=True,
        )
        return cls(process, scratch, limits)

    async def read(self) -> bytes:
        """What the server says next; EndOfStream when it is gone."""
        assert self._process.stdout is not None  # noqa: S101 - it was opened with a pipe
        return await self._process.stdout.receive(65_536)

    async def write(self, line: bytes) -> None:
        """Tell the server something."""
        assert self._process.stdin is not None  # noqa: S101 - the same
        await self._process.stdin.send(line)

    async def listen_to_words(self) -> None:
        """Keep the end of what it says beside the protocol, until it is gone."""
        assert self._process.stderr is not None  # noqa: S101 - the same
        async for words in self._process.stderr:
            self._told.append(words)
            self._told_bytes += len(words)
            while self._told_bytes - len(self._told[0]) > self._limits.last_words_bytes:
                self._told_bytes -= len(self._told.popleft())

    @property
    def last_words(self) -> str:
        """What it said last, for the status page."""
        words = b"".join(self._told)[-self._limits.last_words_bytes :]
        return words.decode(errors="replace")

    @property
    def ending(self) -> tuple[Reason, str]:
        """Why it ended, and the exit code in words."""
        code = self._process.returncode or 0
        told = f"killed by signal {code - 128}" if code > 128 else f"exit code {code}"
        return _REASONS.get(code, Reason.CRASHED), told

    async def stop(self) -> None:
        """Close its input, wait, ask, kill; whatever it left behind goes with it."""
        with anyio.CancelScope(shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            if not await self._ends_within(self._limits.goodbye_seconds):
                self._process.terminate()
                if not await self._ends_within(self._limits.goodbye_seconds + 5):
                    self._process.kill()
                    await self._ends_within(5)
            if self._scratch is not None:
                await anyio.to_thread.run_sync(shutil.rmtree, self._scratch, True)

    async def close_streams(self) -> None:
        """Let go of its output, once nobody reads any more."""
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                await stream.aclose()
        # A grandchild that holds a pipe open keeps the loop's own end of it open: nothing public
        # closes that.
        transport = getattr(getattr(self._process, "_process", None), "_transport", None)
        if transport is not None:
            transport.close()

    async def _ends_within(self, seconds: float) -> bool:
        # Not `wait()`: that one waits for the pipes, too, which a grandchild may hold open.
        deadline = anyio.current_time() + seconds
        while self._process.returncode is None:
            if anyio.current_time() > deadline:
                return False
            await anyio.sleep(0.01)
        return True


async def _check_code(server: StdioServer) -> None:
    """A package that was changed after it was installed is not started."""
    if server.sealed is not None:
        found = await anyio.to_thread.run_sync(code_digest, server.sealed.folder)
        if found != server.sealed.digest:
            raise ServerProblemError(Reason.FILES_CHANGED)


def _environment(server: StdioServer, home: str) -> dict[str, str]:
    """All that a server gets: nothing of our environment, which has keys in it."""
    own = str(Path(server.command[0]).parent)
    folders = dict.fromkeys((own, "/usr/local/bin", "/usr/bin", "/bin"))
    return {**_BARE, **server.environment, "PATH": ":".join(folders), "HOME": home, "TMPDIR": home}
