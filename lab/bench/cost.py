"""Cost and throughput of a warm selection, by process: `python -m lab.bench.cost`.

    python -m lab.bench.cost                          # 5,254 capabilities, 1, 8, 50, 200 clients
    python -m lab.bench.cost --tools 500 --seconds 3 --clients 8
    python -m lab.bench.cost --set ../shared/eval/toucan-mcp-catalog   # real definitions

People of one group may use everything. Each client sends its next request as soon as it has the
answer to the last one, so the throughput is what the machine carries. All processes run as in
`make run`, the generator beside them; CPU time is read from the operating system. With a set,
messages are those of the labelled sets beside it. `--requests` adds a table of other requests.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.bench.inside import servers
from lab.bench.load.product import Product
from lab.bench.machine import describe_machine

if TYPE_CHECKING:
    from django.contrib.auth.models import Group

TOOLS, SECONDS, CLIENTS = 5_254, 8.0, (1, 8, 50, 200)
PROCESSES = ("Postgres", "Web", "Redis")
MESSAGES, WARM, PEOPLE = 41, 400, 20
# One key may have some hundred requests waiting in each process.
KEYS = 8
HEAD = (
    "| clients | answers | failed | requests/s | p50 ms | p95 ms | CPU ms: Postgres | web | Redis "
    "| others | Postgres + web |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(slots=True)
class Run:
    """The answers of one closed loop."""

    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Start the servers, then measure in a process that knows their addresses."""
    options = _options()
    if options.inside:
        _measure(options)
        return
    what = options.set.name if options.set else f"{options.tools:,} made-up capabilities"
    _tell(f"{describe_machine()}\n\n{what}\n\n{HEAD}")
    with servers() as opened:
        command = [sys.executable, "-m", "lab.bench.cost", "--inside", *sys.argv[1:]]
        subprocess.run(command, env=opened("cost"), check=True)  # noqa: S603 - ourselves


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=int, default=TOOLS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--set", type=Path, help="a folder with a catalog.jsonl, in their place")
    parser.add_argument("--requests", action="store_true", help="measure other requests, too")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from lab.bench.load.product import running

    call_command("migrate", verbosity=0)
    keys, messages = _world(options)
    requests = [_request(text, keys[place % KEYS]) for place, text in enumerate(messages)]
    with running() as product:
        asyncio.run(closed_loop(product.port, requests, 8, most=WARM))
        for clients in options.clients:
            _tell(_line(clients, product, requests, options.seconds))
        for line in _other_requests(product, keys[0], messages) if options.requests else ():
            _tell(line)


def _other_requests(product: Product, key: str, messages: list[str]) -> Iterator[str]:
    from catalog.models import Capability
    from lab.bench.requests import measure_requests

    names = Capability.objects.order_by("full_name").values_list("full_name", flat=True)[::50]
    people = ["alice", *(f"person-{number}" for number in range(PEOPLE))]
    return measure_requests(product, key, messages, list(names), people)


def _line(clients: int, product: Product, requests: list[bytes], seconds: float) -> str:
    before = product.cpu_by_process()
    run = asyncio.run(closed_loop(product.port, requests, clients, seconds=seconds))
    after = product.cpu_by_process()
    count = max(1, len(run.milliseconds))
    cost = {name: (after[name] - before.get(name, 0.0)) * 1000 / count for name in after}
    named = [cost.pop(name, 0.0) for name in PROCESSES]
    ordered = sorted(run.milliseconds) or [float("nan")]
    failed = ", ".join(f"{number} x {why}" for why, number in run.errors.most_common(3))
    figures = (
        count / run.seconds,
        ordered[len(ordered) // 2],
        ordered[int(len(ordered) * 0.95)],
        *named,
        sum(cost.values()),
        named[0] + named[1],
    )
    return (
        f"| {clients} | {count} | {failed or 0} | {' | '.join(f'{one:.1f}' for one in figures)} |"
    )


async def closed_loop(
    port: int, requests: list[bytes], clients: int, *, seconds: float = 60.0, most: int = 10**9
) -> Run:
    """Send requests in turn from so many connections, until the time or their number is over."""
    run, sent = Run(), iter(range(most))
    began = time.perf_counter()

    async def client(number: int) -> None:
        await asyncio.sleep(number * 0.005)  # a process accepts 64 new connections of an address
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < began + seconds and (place := next(sent, None)) is not None:
            started = time.perf_counter()
            try:
                writer.write(requests[place % len(requests)])
                await _answer(reader)
            except (OSError, EOFError, RuntimeError) as problem:
                run.errors[str(problem)[:80] or type(problem).__name__] += 1
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            else:
                run.milliseconds.append((time.perf_counter() - started) * 1000)
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    run.seconds = time.perf_counter() - began
    return run


async def _answer(reader: asyncio.StreamReader) -> None:
    """Read one answer; raise RuntimeError unless it is a 200."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].partition("\r\n")[0])
    body = await reader.readexactly(length)
    if " 200 " not in head.partition("\r\n")[0]:
        raise RuntimeError(f"{head.partition(chr(13))[0]} {body[:60]!r}")


def _world(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Fill the database; return keys that act for alice, who may use everything, and messages."""
    from django.contrib.auth.models import Group, User

    from acl.keys.lifecycle import create_key

    everyone = Group.objects.create(name="everyone")
    for name in ("alice", *(f"person-{number}" for number in range(PEOPLE))):
        User.objects.create_user(name).groups.add(everyone)
    messages = _load(options.set, everyone) if options.set else _make_up(options.tools, everyone)
    _vacuum()
    scopes = ["select", "discover"]
    made = [
        create_key(by=None, name="cost", group=everyone, scopes=scopes, acts_for_users=True)
        for _ in range(KEYS)
    ]
    return [raw for _, raw in made], messages


def _load(folder: Path, group: "Group") -> list[str]:
    """Load a real catalogue; return messages of the sets beside it, else of its descriptions."""
    from django.db import connection

    from catalog.embedding.jobs import embed_pending
    from catalog.formats.loader import load_path
    from catalog.models import Capability
    from catalog.registration.register import register_for_measuring
    from catalog.trust import gate

    # A scratch catalogue is one connection's alone, and here a web server reads it.
    gate._require_scratch = lambda: None
    with connection.cursor() as cursor:
        cursor.execute("SET pegboard.gate = 'open'")
    register_for_measuring(load_path(folder / "catalog.jsonl"), group=group)
    embed_pending()
    if real := _real_messages(folder.parent):
        return real
    told = Capability.objects.exclude(description="").order_by("pk")
    sentences = [text.split(". ")[0][:120] for text in told.values_list("description", flat=True)]
    return random.Random(3).sample(sentences, MESSAGES)


def _real_messages(folder: Path) -> list[str]:
    """Return as many messages of each labelled set beside the catalogue."""
    sets = [path.read_text().splitlines() for path in sorted(folder.glob("*/queries.jsonl"))]
    lines = [random.Random(3).sample(lines, MESSAGES // len(sets) + 1) for lines in sets if lines]
    return [json.loads(line)["query"] for some in lines for line in some][:MESSAGES]


def _make_up(tools: int, group: "Group") -> list[str]:
    """Build a world that is open to the group; return messages that something in it fits."""
    from acl.models import GroupPolicy
    from catalog.embedding.configured_embedder import answering_embedder
    from catalog.models import Capability
    from catalog.relations.relations import refresh_relations
    from lab.bench.world import build_world

    model = answering_embedder().name
    build_world(capabilities=tools, users=200, groups=20, model=model)
    _embed_names(model)
    Capability.objects.update(available=True)
    refresh_relations(list(Capability.objects.values_list("pk", flat=True)))
    GroupPolicy.objects.update_or_create(group=group, defaults={"open_default": True})
    return _messages()


def _messages() -> list[str]:
    """Return messages that something fits: where nothing does, statements look for help."""
    from lab.bench.selection import OPENINGS
    from lab.bench.world import THINGS, VERBS

    dice = random.Random(3)
    return [
        f"{dice.choice(OPENINGS)}{dice.choice(VERBS)} the {dice.choice(THINGS)} for our team"
        for _ in range(MESSAGES)
    ]


def _embed_names(model: str) -> None:
    """Replace the random vectors by those of the names, each a little off."""
    from catalog.embedding.query_vectors import embed_queries
    from catalog.models import Embedding

    rows = list(Embedding.objects.filter(model__name=model).select_related("capability"))
    names = sorted({row.capability.display_name for row in rows})
    vectors = dict(zip(names, embed_queries(names).vectors, strict=True))
    numbers = np.random.default_rng(3)
    for row in rows:
        moved = vectors[row.capability.display_name] + numbers.standard_normal(384) * 0.015
        row.vector = (moved / np.linalg.norm(moved)).astype(np.float32)
    Embedding.objects.bulk_update(rows, ["vector"], batch_size=500)


def _vacuum() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def _request(message: str, key: str) -> bytes:
    body = json.dumps({"message": message, "user": "alice"}).encode()
    head = (
        "POST /api/v1/select HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    main()
