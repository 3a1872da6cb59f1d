"""Processes of a server: started in a clean environment, and ended with all descendants."""

import shutil
import tempfile
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from catalog.servers.cell.command import HOME, PROXY_PORT, Cell, build_command
from catalog.servers.cell.egress_proxy import CellProxy
from catalog.servers.cell.kernel_limits import compile_filter
from catalog.servers.cell.support import cell_groups, find_bwrap
from catalog.servers.cell.visible_files import prepare_files
from catalog.servers.client import process_guard
from catalog.servers.client.launch_rules import COMPILED, code_digest
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ServerLimits, StdioServer

_BASE_ENVIRONMENT = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_LIMITS = ("memory_bytes", "processes", "cpu_seconds", "cpu_cores", "file_bytes", "open_files")
_REASONS = {
    process_guard.TOO_MUCH_MEMORY: Reason.TOO_MUCH_MEMORY,
    process_guard.TOO_MANY_PROCESSES: Reason.TOO_MANY_PROCESSES,
    process_guard.TOO_MUCH_DISK: Reason.TOO_MUCH_DISK,
    process_guard.NOT_STARTED: Reason.CANNOT_START,
}


class ServerProcess:
    """A server running under its process guard."""

    def __init__(
        self,
        process: Process,
        scratch: Path | None,
        limits: ServerLimits,
        proxy: CellProxy | None = None,
    ) -> None:
        self._process = process
        self._proxy = proxy
        self._scratch = scratch
        self._limits = limits
        self._stderr: deque[bytes] = deque()
        self._stderr_bytes = 0

    @classmethod
    async def start(cls, server: StdioServer, limits: ServerLimits) -> "ServerProcess":
        """Start the command. The caller has checked it."""
        await _verify_package(server)
        if server.home is not None:
            server.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if server.cell is not None:
            return await cls._start_in_cell(server, server.cell, limits)
        scratch = None if server.home else Path(tempfile.mkdtemp(prefix="pegboard-server-"))
        home = server.home or scratch
        process = await anyio.open_process(
            process_guard.start_command(_guarded(limits), server.command),
            env=_environment(server, str(home)),
            cwd=home,
            start_new_session=True,
        )
        return cls(process, scratch, limits)

    @classmethod
    async def _start_in_cell(
        cls, server: StdioServer, cell: Cell, limits: ServerLimits
    ) -> "ServerProcess":
        place = server.sealed.folder if server.sealed else None
        await anyio.to_thread.run_sync(prepare_files, place, server.home, cell.user)
        command = build_command(find_bwrap(), server.command, cell, home=server.home)
        environment = _environment(server, HOME) | {"TMPDIR": "/tmp"}  # noqa: S108 - the cell's own
        async with CellProxy.of(cell) as proxy:
            stated = _guarded(limits) | {
                "folder": str(server.home or ""),
                "disk_bytes": limits.disk_bytes,
                "cell": process_guard.describe_cell(
                    compile_filter(),
                    listener=proxy.descriptor,
                    port=PROXY_PORT,
                    groups=cell_groups(),
                ),
            }
            process = await anyio.open_process(
                process_guard.start_command(stated, command),
                env={**environment, **proxy.variables},
                cwd="/",
                start_new_session=True,
                pass_fds=proxy.descriptors,
            )
            await proxy.serve()
        return cls(process, None, limits, proxy)

    async def read(self) -> bytes:
        """Return the next output, or raise EndOfStream."""
        assert self._process.stdout is not None  # noqa: S101 - it was opened with a pipe
        return await self._process.stdout.receive(65_536)

    async def write(self, line: bytes) -> None:
        """Write a line to the server's input."""
        assert self._process.stdin is not None  # noqa: S101 - the same
        await self._process.stdin.send(line)

    async def collect_stderr(self) -> None:
        """Keep the end of stderr until the process ends."""
        assert self._process.stderr is not None  # noqa: S101 - the same
        async for chunk in self._process.stderr:
            self._stderr.append(chunk)
            self._stderr_bytes += len(chunk)
            while self._stderr_bytes - len(self._stderr[0]) > self._limits.last_words_bytes:
                self._stderr_bytes -= len(self._stderr.popleft())

    @property
    def stderr_tail(self) -> str:
        """Return the end of stderr, for the status page."""
        tail = b"".join(self._stderr)[-self._limits.last_words_bytes :]
        return tail.decode(errors="replace")

    @property
    def exit_reason(self) -> tuple[Reason, str]:
        """Return the reason of the exit and a description of the exit code."""
        code = self._process.returncode or 0
        description = f"killed by signal {code - 128}" if code > 128 else f"exit code {code}"
        return _REASONS.get(code, Reason.CRASHED), description

    async def stop(self) -> None:
        """Close the input, wait, terminate, kill; then remove the scratch folder."""
        with anyio.CancelScope(shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            if not await self._wait_for_exit(self._limits.goodbye_seconds):
                self._process.terminate()
                if not await self._wait_for_exit(self._limits.goodbye_seconds + 5):
                    self._process.kill()
                    await self._wait_for_exit(5)
            if self._proxy is not None:
                await self._proxy.close()
            if self._scratch is not None:
                await anyio.to_thread.run_sync(shutil.rmtree, self._scratch, True)

    async def close_streams(self) -> None:
        """Close the output streams once nobody reads them."""
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                await stream.aclose()
        # A grandchild holding a pipe open keeps asyncio's transport open: no public API closes it.
        transport = getattr(getattr(self._process, "_process", None), "_transport", None)
        if transport is not None:
            transport.close()

    async def _wait_for_exit(self, seconds: float) -> bool:
        # Not `wait()`: it also waits for the pipes, which a grandchild may hold open.
        deadline = anyio.current_time() + seconds
        while self._process.returncode is None:
            if anyio.current_time() > deadline:
                return False
            await anyio.sleep(0.01)
        return True


async def _verify_package(server: StdioServer) -> None:
    """Refuse to start a package whose code changed since it was installed."""
    if server.sealed is not None:
        sealed = {server.sealed.folder: server.sealed.digest}
        if server.sealed.compiled:
            sealed[server.sealed.folder / COMPILED] = server.sealed.compiled
        for folder, digest in sealed.items():
            if await anyio.to_thread.run_sync(code_digest, folder) != digest:
                raise ServerProblemError(Reason.FILES_CHANGED)


def _guarded(limits: ServerLimits) -> dict[str, Any]:
    return {name: asdict(limits)[name] for name in _LIMITS}


def _environment(server: StdioServer, home: str) -> dict[str, str]:
    """Build the whole environment of a server.

    Nothing is inherited: Pegboard's environment contains keys.
    """
    program_folder = str(Path(server.command[0]).parent)
    folders = dict.fromkeys((program_folder, "/usr/local/bin", "/usr/bin", "/bin"))
    return {
        **_BASE_ENVIRONMENT,
        **server.environment,
        "PATH": ":".join(folders),
        "HOME": home,
        "TMPDIR": home,
    }
