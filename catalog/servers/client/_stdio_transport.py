"""The stdio transport: bounded lines, and a process that ends with the streams."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from catalog.servers.client._readable_json import mend_line, read_line
from catalog.servers.client._traffic import Traffic
from catalog.servers.client.server_problems import Reason
from catalog.servers.client.server_process import ServerProcess
from catalog.servers.client.targets import ServerLimits, StdioServer

_Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
_Outgoing = MemoryObjectSendStream[SessionMessage]
# Messages queued for a server that does not read; deadlines of calls bound the wait.
_QUEUE_SIZE = 64
_STREAM_CLOSED = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


@asynccontextmanager
async def stdio_streams(
    server: StdioServer, limits: ServerLimits, traffic: Traffic
) -> AsyncGenerator[tuple[_Incoming, _Outgoing], None]:
    """Open the streams of a server that runs as long as this context."""
    try:
        process = await ServerProcess.start(server, limits)
    except OSError as problem:
        traffic.end(Reason.CANNOT_START, problem.strerror or "")
        raise
    deliver, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, collect = anyio.create_memory_object_stream[SessionMessage](_QUEUE_SIZE)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_lines, process, deliver, limits, traffic)
            tasks.start_soon(_write_lines, process, collect, traffic)
            tasks.start_soon(process.collect_stderr)
            yield incoming, outgoing
            await process.stop()
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.stop()
            await process.close_streams()
        for stream in (deliver, incoming, outgoing, collect):
            stream.close()
        # Add the exit reason and the end of stderr to the problem.
        if traffic.reason is Reason.CRASHED:
            traffic.reason, description = process.exit_reason
            traffic.detail = f"{process.stderr_tail.strip()}\n{description}"
        elif not traffic.detail:
            traffic.detail = process.stderr_tail


async def _read_lines(
    process: ServerProcess,
    deliver: MemoryObjectSendStream[SessionMessage | Exception],
    limits: ServerLimits,
    traffic: Traffic,
) -> None:
    """Deliver each message until the server ends or exceeds a limit."""
    rest, printed = bytearray(), bytearray()
    try:
        with deliver:
            while True:
                rest += await process.read()
                *lines, last = rest.split(b"\n")
                rest = bytearray(last)
                if any(len(line) > limits.line_bytes for line in (*lines, rest, printed)):
                    return traffic.end(Reason.TOO_LARGE)
                for line in lines:
                    # A message over several lines ends with the brace that it began with.
                    is_inside = bool(printed) or line.rstrip() == b"{"
                    if is_inside:
                        printed += line
                    if is_inside and line.rstrip() != b"}":
                        continue
                    message = bytes(printed or line)
                    printed.clear()
                    if not await _deliver(message, deliver, traffic):
                        return None
    except _STREAM_CLOSED:
        traffic.end(None if traffic.over.is_set() else Reason.CRASHED)


async def _deliver(
    line: bytes, deliver: MemoryObjectSendStream[SessionMessage | Exception], traffic: Traffic
) -> bool:
    if not line.strip():
        return traffic.tolerates_garbage(len(line)) if line else True
    try:
        try:
            message = read_line(line)
            is_mended = traffic.is_expected(message)
        except ValueError:
            is_mended = False
        if not is_mended:
            message = read_line(mend_line(line, traffic.expected))
    except ValueError:
        # Not delivered: the SDK would only log it.
        return traffic.tolerates_garbage(len(line))
    if not traffic.allows(message, len(line)):
        return False
    if traffic.is_excess(message):
        return True
    await deliver.send(SessionMessage(message))
    return True


async def _write_lines(
    process: ServerProcess, collect: MemoryObjectReceiveStream[SessionMessage], traffic: Traffic
) -> None:
    try:
        async for item in collect:
            traffic.record_sent(item.message)
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.write(text.encode() + b"\n")
    except _STREAM_CLOSED:
        pass  # the reading task reports the end
