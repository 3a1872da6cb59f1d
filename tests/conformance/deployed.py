"""`manage.py up` and forwarders before it, for programs without a key.

Reference servers are installed by the API, as an admin adds an address of the own machine, each for
a group of its own; the key of a group is made by the command that makes everybody's.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2

from lab.atlas.product import Product, running
from lab.atlas.survey import wait_for_installation
from tests.ports import free_port

_ROOT = Path(__file__).parents[2]
_HEAD_END = b"\r\n\r\n"
_CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)
_STARTS_WITHIN = 60.0  # seconds


class Address(NamedTuple):
    """Addresses of `/mcp` for one group, and of its only server, without a key."""

    of_all: str
    of_server: str


@contextmanager
def deployed(generations: Iterable[str]) -> Iterator[dict[str, Address]]:
    """Run Pegboard with a reference server of each generation; yield addresses by generation."""
    with ExitStack() as stack:
        servers = {
            generation: stack.enter_context(_reference(generation)) for generation in generations
        }
        hosts = ",".join(urlsplit(url).netloc for url in servers.values())
        product = stack.enter_context(running({"PEGBOARD_ALLOWED_PRIVATE_HOSTS": hosts}))
        addresses = {}
        for generation, url in servers.items():
            slug = _install(product, url, generation)
            key = product.make_key(generation, "discover", "execute")
            place = stack.enter_context(_forwarder(product.address, key))
            addresses[generation] = Address(f"{place}/mcp", f"{place}/mcp/{slug}")
        yield addresses


@contextmanager
def _reference(generation: str) -> Iterator[str]:
    url = f"http://127.0.0.1:{(port := free_port())}/mcp"
    command = [sys.executable, "-m", "tests.conformance.reference_server", generation, str(port)]
    with subprocess.Popen(command, cwd=_ROOT) as server:  # noqa: S603 - ours
        try:
            deadline = time.monotonic() + _STARTS_WITHIN
            while not _answers(url):
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx2.delete(url).status_code > 0
    except httpx2.TransportError:
        return False


def _install(product: Product, url: str, group: str) -> str:
    """Add the server and install it for a new group of the admin's; return its slug."""
    [addition] = product.post("/additions", {"what": url})
    while addition["state"] == "looking":
        time.sleep(0.2)
        addition = product.get(f"/additions/{addition['id']}")
    identifier = product.post("/groups", {"name": group})["id"]
    product.post(f"/groups/{identifier}/members", {"users": ["admin"]})
    listing = addition["listing"]
    confirmed = product.get("/installations/preview", listing=listing)["digest"]
    order = {"listing": listing, "groups": [group], "secrets": {}, "confirmed": confirmed}
    installation = wait_for_installation(product, product.post("/installations", order))
    assert installation["state"] == "ready", installation
    return str(installation["integration"])


@contextmanager
def _forwarder(address: str, key: str) -> Iterator[str]:
    """Yield an address of this machine from which requests go to Pegboard with the key.

    The rest is passed on byte by byte: hosts, origins, streams and their ends are what is tested.
    """
    port = urlsplit(address).port
    header = f"\r\nConnection: close\r\nAuthorization: Bearer {key}".encode()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(_HEAD_END)).removesuffix(_HEAD_END)
            answers, server = await asyncio.open_connection("127.0.0.1", port)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            return
        server.write(_CONNECTION.sub(b"", head) + header + _HEAD_END)
        # Whichever side ends first ends both: Pegboard hears of a client that left.
        pipes = [
            asyncio.create_task(_pipe(*ends)) for ends in ((reader, server), (answers, writer))
        ]
        await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        for pipe in pipes:
            pipe.cancel()
        server.close()
        writer.close()

    async def serve(ready: list[int]) -> None:
        server = await asyncio.start_server(forward, "127.0.0.1", 0)
        ready.append(server.sockets[0].getsockname()[1])

    loop, ports = asyncio.new_event_loop(), list[int]()
    loop.run_until_complete(serve(ports))
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the other side has gone
