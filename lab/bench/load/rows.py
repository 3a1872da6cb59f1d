"""The loads, one for each goal. A row runs its load and compares it with its goal."""

import asyncio
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group, User

from acl.keys.lifecycle import create_key
from lab.bench.execute import ECHO, SERVE, TOOL, _direct, _world
from lab.bench.load.arrivals import Client, Load, send_at_rate
from lab.bench.load.product import Product
from lab.bench.selection import texts

MESSAGES = 40
INSTALLED = 200
WOKEN = 30
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Row:
    """A load, its result, and whether the goal is met; `more` holds further figures."""

    name: str
    goal: str
    load: Load
    met: bool
    more: str = ""


@dataclass(slots=True)
class Callers:
    """People of the world, each with a key of one of their groups."""

    pairs: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of_the_world(cls) -> "Callers":
        """Create a key for every group that has members."""
        keys: dict[int, str] = {}
        callers = cls()
        people = User.objects.filter(groups__isnull=False, is_active=True).distinct()
        for person in people.order_by("pk").prefetch_related("groups"):
            group = min(person.groups.all(), key=lambda each: each.pk)
            if group.pk not in keys:
                keys[group.pk] = _new_key(group)
            callers.pairs.append((person.username, keys[group.pk]))
        random.Random(5).shuffle(callers.pairs)
        return callers

    def at(self, place: int) -> tuple[str, str]:
        """Return a user name and a key."""
        return self.pairs[place % len(self.pairs)]


def _new_key(group: Group) -> str:
    scopes = ["select", "discover"]
    return create_key(by=None, name="load", group=group, scopes=scopes, acts_for_users=True)[1]


def wake(product: Product, callers: Callers) -> None:
    """Warm up the web server: its model and its statements."""
    client = Client(product.port)
    for place in range(WOKEN):
        _select(client, _numbered(place, "wake"), callers.at(place))


def cold_selection(product: Product, callers: Callers, seconds: float) -> Row:
    """Select for new messages, each of which has to be embedded."""
    load = _at(product, 30, seconds, lambda at: _numbered(at, "cold"), callers)
    met = not load.failed and load.p(95) <= 250
    return Row("cold selection, 5,000 tools", "30/s, p95 <= 250 ms, 0 errors", load, met)


def warm_selection(product: Product, callers: Callers, seconds: float) -> Row:
    """Select for the same messages repeatedly."""
    messages = texts("single", MESSAGES)
    warm = send_at_rate(
        lambda client, at: _select(client, messages[at], callers.at(at)),
        port=product.port, rate=20, seconds=MESSAGES / 20,
    )  # fmt: skip
    load = _at(product, 150, seconds, lambda at: messages[at % MESSAGES], callers)
    met = not (load.failed or warm.failed) and load.p(95) <= 100
    return Row("warm selection, 5,000 tools", "150/s, p95 <= 100 ms", load, met)


def my_tools(product: Product, callers: Callers, seconds: float) -> Row:
    """Request a page of one's tools, with a search in two requests of three."""
    words = ("", "&query=invoice", "&query=send")

    def send(client: Client, at: int) -> None:
        user, key = callers.at(at)
        client.ask("GET", f"/api/v1/capabilities?user={user}{words[at % 3]}", key)

    load = _measured(product, send, 100, seconds)
    met = not load.failed and load.p(95) <= 100
    return Row("list and search", "100/s, p95 <= 100 ms", load, met)


def execute(product: Product, callers: Callers, seconds: float) -> Row:
    """Call an echo server over HTTP, to measure what Pegboard adds to a direct call."""
    echo = int(os.environ["PEGBOARD_TEST_ECHO_PORT"])
    key = _world(echo)
    command = [sys.executable, "-c", ECHO.format(SERVE.format(echo))]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603

    def send(client: Client, at: int) -> None:
        body = {"user": "alice", "name": TOOL, "arguments": {"first": at, "second": 1}}
        answer = client.ask("POST", "/api/v1/execute", key, body)
        if answer["status"] != "completed":
            raise RuntimeError(f"call is {answer['status']}")

    try:
        _approve_tools(echo)
        send_at_rate(send, port=product.port, rate=2, seconds=5)  # opens the connection
        direct = Load(milliseconds=asyncio.run(_direct(echo, 60, min(seconds, 60))))
        load = _measured(product, send, 60, seconds)
    finally:
        server.kill()  # a graceful stop would wait for the connection that Pegboard keeps
        server.wait()
    half, most = load.p(50) - direct.p(50), load.p(95) - direct.p(95)
    met = not load.failed and half <= 15 and most <= 50
    more = f"added p50 {half:.1f} ms, p95 {most:.1f} ms"
    return Row("execute, echo server", "60/s, added p50 <= 15 ms, p95 <= 50 ms", load, met, more)


def _approve_tools(port: int) -> None:
    """Approve the server's definitions, or the worker's first sync would hold them back."""
    from catalog.models import Integration
    from catalog.registration.definition_review import (
        approve_definitions,
        list_waiting,
        seen_digest,
    )
    from catalog.servers.tasks import sync_definitions

    _wait_for_port(port)
    echo = Integration.objects.get(slug="echo")
    sync_definitions(echo.pk)
    seen = {row.name: seen_digest(row) for row in list_waiting(echo)}
    approve_definitions(
        by=User.objects.create_superuser("approver"), integration=echo, digests=seen
    )


def _wait_for_port(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the echo server does not answer")


def install(product: Product, callers: Callers, seconds: float) -> Row:
    """Add 200 tools while people select; measure the time until all have vectors."""
    from catalog.embedding.jobs import pending_embeddings, send_embeddings
    from catalog.models import Capability
    from tests.catalog.builders import store, tool

    before = _at(product, 10, seconds, lambda at: _numbered(at, "before"), callers)
    embedded: list[float] = []

    def bring() -> None:
        began = time.monotonic()
        store(*(_new_tool(tool, number) for number in range(INSTALLED)))
        ids = Capability.objects.filter(integration__slug="brought").values_list("pk", flat=True)
        send_embeddings(list(ids))
        while pending_embeddings().filter(capability__in=list(ids)).exists():
            if time.monotonic() - began > PATIENCE_SECONDS:
                break
            time.sleep(0.2)
        embedded.append(time.monotonic() - began)

    load = _beside(bring, lambda: _at(product, 10, seconds, lambda a: _numbered(a, "on"), callers))
    times = load.p(95) / before.p(95)
    met = not load.failed and embedded[0] <= 30 and times <= 2
    more = f"all embedded in {embedded[0]:.1f} s, p95 {times:.1f} times that before"
    return Row("install of 200 tools", "embedded <= 30 s, p95 <= 2 times", load, met, more)


def large_catalogue(product: Product, callers: Callers, seconds: float) -> Row:
    """Compare the nearest tools with exact results, for 50,000 tools and 1,000 people."""
    from lab.bench.load.recall import recall

    load = _at(product, 10, seconds, lambda at: _numbered(at, "large"), callers)
    share = recall(texts("single", 20, seed=9))
    met = not load.failed and load.p(95) <= 400 and share == 1.0
    goal = "10/s, p95 <= 400 ms, recall 1.0"
    return Row("selection, 50,000 tools, 1,000 people", goal, load, met, f"recall {share:.3f}")


def soak(product: Product, callers: Callers, seconds: float) -> Row:
    """Select for a long time; memory and descriptors must not grow."""
    _at(product, 10, min(60, seconds), lambda at: _numbered(at, "first"), callers)
    memory, files = product.resident_megabytes(), product.open_files()
    load = _at(product, 10, seconds, lambda at: _numbered(at, "soak"), callers)
    grown = product.resident_megabytes() / memory - 1
    more_files = product.open_files() - files
    met = not load.failed and grown < 0.05 and more_files <= 0
    more = f"memory {grown:+.1%} of {memory:.0f} MB, descriptors {more_files:+d}"
    return Row("soak", "10/s, memory < +5 %, no more descriptors", load, met, more)


ROWS: dict[str, Callable[[Product, Callers, float], Row]] = {
    "cold": cold_selection,
    "warm": warm_selection,
    "list": my_tools,
    "execute": execute,
    "install": install,
    "soak": soak,
    "large": large_catalogue,
}


def _at(
    product: Product, rate: float, seconds: float, message: Callable[[int], str], callers: Callers
) -> Load:
    def send(client: Client, at: int) -> None:
        _select(client, message(at), callers.at(at))

    return _measured(product, send, rate, seconds)


def _measured(
    product: Product, send: Callable[[Client, int], None], rate: float, seconds: float
) -> Load:
    return product.costing(
        lambda: send_at_rate(send, port=product.port, rate=rate, seconds=seconds)
    )


def _select(client: Client, message: str, caller: tuple[str, str]) -> None:
    user, key = caller
    client.ask("POST", "/api/v1/select", key, {"message": message, "user": user})


def _numbered(place: int, load: str) -> str:
    """Return a natural message, different for each request."""
    messages = _all_messages()
    return f"{messages[place % len(messages)]} ({load} {place})"


_known: list[str] = []


def _all_messages() -> list[str]:
    if not _known:
        _known.extend(texts("single", 400, seed=4))
    return _known


def _new_tool(tool: Callable[..., Any], number: int) -> Any:
    described = f"It keeps the {number}th ledger: opens, closes and compares its pages."
    return tool(f"keep_ledger_{number}", described, integration="brought")


def _beside(work: Callable[[], None], load: Callable[[], Load]) -> Load:
    """Run the work in a thread beside the load, until both have finished."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(run)
        done = load()
        working.result()
    return done
