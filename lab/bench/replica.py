"""Postgres's CPU time for a selection with and without a read replica, in turns.

    python -m lab.bench.replica                      # 5,254 made-up capabilities
    python -m lab.bench.replica --tools 500

Whole requests `POST /api/v1/select` in this process, for a person who may use everything: by SQL
alone, as above PEGBOARD_INDEX_MOST, and by the index. The primary's time includes keys, turns and
what it sends to the replica. Needs the tables that a run of any test has saved.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.bench.inside import servers
from lab.bench.machine import describe_machine

if TYPE_CHECKING:
    from django.test import Client

ROUNDS, REQUESTS = 7, 150
HEAD = (
    "| | primary, CPU ms per request | replica | this process | primary's ratio |\n"
    "|---|--:|--:|--:|--:|\n"
)
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start Redis and a model, then measure in a process that knows their addresses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=int, default=5_254)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        _measure_all(options.tools)
        return
    with servers() as opened:
        command = [sys.executable, "-m", "lab.bench.replica", "--inside", *sys.argv[1:]]
        subprocess.run(command, env=opened("replica"), check=True)  # noqa: S603 - ourselves


def _measure_all(tools: int) -> None:
    import django
    import psycopg

    django.setup()
    from tests.streaming import django_on, streaming

    with streaming() as pair, django_on(pair.primary):
        client, messages = _fill(tools)
        with psycopg.connect(pair.primary.superuser_url(), autocommit=True) as superuser:
            superuser.execute("VACUUM (ANALYZE)")
        pair.catch_up()
        _route_to(pair.replica.url())
        postmasters = [
            server.process.pid for server in (pair.primary, pair.replica) if server.process
        ]
        sys.stdout.write(f"{describe_machine()}\n\n{tools:,} capabilities\n\n{HEAD}")
        for name, indexed in (("by SQL", False), ("by the index", True)):
            _measure(name, client, messages, postmasters, indexed=indexed)


def _fill(tools: int) -> tuple["Client", list[str]]:
    from django.contrib.auth.models import Group, User
    from django.test import Client

    from acl.keys.lifecycle import create_key
    from acl.models import Space
    from lab.bench.cost import _make_up

    group, alice = Group.objects.create(name="all"), User.objects.create(username="alice")
    Space.objects.get_or_create(group=group, parent=None, defaults={"name": "root", "slug": "root"})
    alice.groups.add(group)
    messages = _make_up(tools, group)
    _, raw = create_key(by=None, name="bench", group=group, scopes=["select"], acts_for_users=True)
    return Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {raw}"}), messages


def _route_to(url: str) -> None:
    from django.conf import settings
    from django.db import connection, connections

    from acl.platform.read_replica import ALIAS, replica_database

    given = connection.settings_dict
    session = given["OPTIONS"]["options"]
    connections.settings[ALIAS] = given | replica_database(url, session) | {"PORT": ""}
    for payer in ("KEY", "PERSON"):
        setattr(settings, f"PEGBOARD_RATE_PER_{payer}", 1_000_000)
        setattr(settings, f"PEGBOARD_CPU_PER_{payer}", 1_000_000)


def _measure(
    name: str,
    client: "Client",
    messages: list[str],
    postmasters: Sequence[int],
    *,
    indexed: bool,
) -> None:
    from django.conf import settings

    from catalog.search_index.cache import index_cache

    def ask() -> None:
        for number in range(REQUESTS):
            body = {"message": messages[number % len(messages)], "user": "alice"}
            response = client.post("/api/v1/select", body, "application/json")
            assert response.status_code == 200, response.content

    index_cache.enabled = indexed
    figures: dict[int, list[list[float]]] = {0: [], 5: []}
    for place in range(-1, ROUNDS):  # the first as warm-up
        for staleness in figures:
            settings.PEGBOARD_REPLICA_STALENESS = staleness
            spent = _spent_by(postmasters, ask)
            if place >= 0:
                figures[staleness].append(spent)
    medians = {
        staleness: [statistics.median(column) for column in zip(*rows, strict=True)]
        for staleness, rows in figures.items()
    }
    without = medians[0][0]
    for staleness, (primary, replica, own) in medians.items():
        kind = "with the replica" if staleness else "without"
        figures_of_it = f"{primary:.2f} | {replica:.2f} | {own:.2f} | {primary / without:.2f}"
        sys.stdout.write(f"| {name}, {kind} | {figures_of_it} |\n")
    sys.stdout.flush()


def _spent_by(postmasters: Sequence[int], work: Callable[[], None]) -> list[float]:
    """Return the CPU milliseconds per request of each server with its processes, and of this
    process."""
    before = [*map(_cpu, postmasters), time.process_time()]
    work()
    after = [*map(_cpu, postmasters), time.process_time()]
    return [1000 * (end - start) / REQUESTS for start, end in zip(before, after, strict=True)]


def _cpu(pid: int) -> float:
    """Return the seconds of a process, its children and those of them that have ended."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(_of(number, ended=number == pid) for number in (pid, *map(int, children)))


def _of(pid: int, *, ended: bool) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended else 13])) / _TICKS


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    main()
