"""Selections at 50,000 and at a million capabilities, beside each other.

    python -m lab.bench.million                   # half an hour, 15 GB of disk

A million is 10,000 integrations and 2,000 groups; rows are made up, vectors random. Callers may
use about 3,000, about 20,000, or everything. Look at the ratios between the two sizes.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from typing import Any

import django
from rich.console import Console
from rich.table import Table

from lab.bench.inside import servers
from lab.bench.machine import describe_machine

# Capabilities, integrations, groups, and the share of the catalogue beside the usual world's.
WORLDS = ((50_000, 500, 100, 1.0), (1_000_000, 10_000, 2_000, 0.05))
CALLERS = (3000, 20_000)


def main() -> None:
    """Measure each world in a process of its own, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--world", type=int, help="measure this one, and print JSON")
    parser.add_argument("--calls", type=int, default=60)
    options = parser.parse_args()
    if options.world is not None:
        django.setup()
        print(json.dumps(_measure(*WORLDS[options.world], options.calls)))
        return
    console = Console(width=120)
    console.print(describe_machine())
    with servers() as opened:
        found = [_run(opened(f"world_{i}"), i, options.calls) for i in range(len(WORLDS))]
    console.print(_table(found))


def _run(environment: dict[str, str], world: int, calls: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "lab.bench.million", "--world", str(world)]
    output = subprocess.run(  # noqa: S603 - ourselves
        [*command, "--calls", str(calls)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    figures: dict[str, Any] = json.loads(output.stdout)
    return figures


def _table(found: list[dict[str, Any]]) -> Table:
    table = Table(
        "", *(f"{figures['size']:,}" for figures in found), title="milliseconds, p50 / p95"
    )
    for name in found[0]["rows"]:
        table.add_row(name, *(str(figures["rows"].get(name, "")) for figures in found))
    return table


def _measure(size: int, integrations: int, groups: int, share: float, calls: int) -> dict[str, Any]:
    from django.core.management import call_command

    from catalog.embedding.configured_embedder import answering_embedder
    from lab.bench.selection import texts
    from lab.bench.vector_index import build_index, place_vectors_like_real_ones, recall_of_index
    from lab.bench.world import build_world

    call_command("migrate", verbosity=0)
    started = time.monotonic()
    world = build_world(
        capabilities=size,
        users=2 * groups,
        groups=groups,
        model=answering_embedder().name,
        integrations=integrations,
        share=share,
    )
    rows: dict[str, Any] = {
        "built, capabilities a second": round(size / (time.monotonic() - started))
    }
    messages = texts("single", calls)
    for wanted in CALLERS:
        usable, caller = min(world.callers, key=lambda pair: abs(pair[0] - wanted))
        rows[f"a caller of some {wanted:,}: usable"] = f"{usable:,}"
        _time(rows, f"a caller of some {wanted:,}", messages, caller)
    everything = _open_a_group(world.callers[0][1])
    _time(rows, "a caller of everything", messages[: calls // 6], everything)
    rows |= _rights_changes(world.callers, messages) | _sizes()
    if size > WORLDS[0][0]:
        place_vectors_like_real_ones()
        rows |= build_index() | {"recall@10 by the index": recall_of_index(messages)}
        _time(rows, "a caller of everything, by the index", messages, everything)
    return {"size": size, "rows": rows}


def _time(rows: dict[str, Any], name: str, messages: list[str], caller: Any) -> None:
    """Add the rows of a caller: the statement, and the whole with vectors known."""
    from discovery.select.selection import SelectRequest
    from discovery.select.selector import select_capabilities
    from lab.bench.selection import spread

    for text in messages:  # vectors are known and pages are read then
        select_capabilities(SelectRequest(message=text, caller=caller))
    took = [
        select_capabilities(SelectRequest(message=text, caller=caller)).timings for text in messages
    ]
    for part in ("sql", "total"):
        figures = spread([row[part] for row in took])
        rows[f"{name}: {part}"] = f"{figures['p50']} / {figures['p95']}"


def _open_a_group(caller: Any) -> Any:
    """Open a caller's group to all that is not restricted."""
    from acl.models import GroupPolicy

    GroupPolicy.objects.filter(group_id=caller.group_id).update(open_default=True)
    return caller


def _rights_changes(callers: list[tuple[int, Any]], messages: list[str]) -> dict[str, Any]:
    """Time a grant's withdrawal, and the next selection by somebody of that group."""
    from catalog.models import IntegrationGroupPermission
    from discovery.select.selection import SelectRequest
    from discovery.select.selector import select_capabilities
    from lab.bench.selection import spread

    dice, withdrawn, after = random.Random(3), [], []
    near = [caller for _, caller in sorted(callers, key=lambda pair: abs(pair[0] - 3000))[:20]]
    for text in messages[:20]:
        caller = dice.choice(near)
        grant = IntegrationGroupPermission.objects.filter(group_id=caller.group_id).first()
        started = time.perf_counter()
        if grant:
            grant.delete()
        withdrawn.append((time.perf_counter() - started) * 1000)
        after.append(
            select_capabilities(SelectRequest(message=text, caller=caller)).timings["total"]
        )
    return {
        name: f"{spread(values)['p50']} / {spread(values)['p95']}"
        for name, values in (
            ("withdrawing a grant", withdrawn),
            ("the selection after it", after),
        )
    }


def _sizes() -> dict[str, Any]:
    """Return megabytes on disk, by table with its indexes, and of this process."""
    import psutil
    from django.db import connection

    tables = ("catalog_capability", "catalog_embedding", "catalog_lexicalvector")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relname = ANY (%s)"
            " UNION ALL SELECT 'the database', pg_database_size(current_database())",
            [list(tables)],
        )
        sizes = {f"{name}, MB": round(size / 1e6) for name, size in cursor.fetchall()}
    return sizes | {"this process, MB": round(psutil.Process().memory_info().rss / 1e6)}


if __name__ == "__main__":
    main()
