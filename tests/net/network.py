"""A fake network: it records connections and answers from a list."""

import ssl
from collections.abc import Iterable
from typing import Any

import anyio
import httpcore2

from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_transport import GuardedBackend, GuardedTransport

SILENCE = b"<nothing, for ever>"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Stream(httpcore2.AsyncMockStream):
    """A stream with a record of what was sent, and of the TLS handshake's host."""

    def __init__(self, network: "RecordingNetwork", answer: bytes) -> None:
        super().__init__([answer])
        self._network = network

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        part = await super().read(max_bytes, timeout)
        if part == SILENCE:
            await anyio.sleep_forever()
        return part

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._network.sent += buffer

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        assert ssl_context.verify_mode is ssl.CERT_REQUIRED
        self._network.certificates_of.append(server_hostname)
        return self


class RecordingNetwork(httpcore2.AsyncNetworkBackend):
    """A fake network backend: each connection gets the next answer, or raises it."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.connects: list[tuple[str, int]] = []
        self.certificates_of: list[str | None] = []
        self.sent = b""
        self._answers = list(answers)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.connects.append((host, port))
        answer = self._answers.pop(0) if self._answers else OK
        if isinstance(answer, Exception):
            raise answer
        return Stream(self, answer)


class Names:
    """A fake name service: each query gets the name's next answer; the last one repeats."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): each for name, each in answers.items()}

    async def __call__(self, host: str, port: int) -> list[str]:
        answers = self._answers.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def transport_on(
    network: RecordingNetwork, names: Names, *, allowed: AllowedHosts | None = None, **bounds: int
) -> GuardedTransport:
    """Return the real guard in front of the fake network."""
    allowed = allowed or AllowedHosts()
    backend = GuardedBackend(allowed, resolve=names, network=network)
    return GuardedTransport(allowed, backend=backend, **bounds)
