"""Latency of a selection at one size; `make bench` runs it once per size, each with a database.

Milliseconds are medians and 95th percentiles of wall time, and CPU time of this process; machines
differ, so look at the ratios. Cold means a text never seen before, cached the same texts again.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import django

PARTS = ("embedding", "sql", "ranking", "rendering", "total")
OPENINGS = ("", "please ", "could you ", "hey, ", "i need you to ", "next: ", "now ", "quickly ")


def main() -> None:
    """Print one JSON object with every figure of this size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--calls", type=int, default=150)
    options = parser.parse_args()
    django.setup()
    print(json.dumps(measure(options.size, options.calls)))


def measure(size: int, calls: int) -> dict[str, Any]:
    """Build the world and time the service for one and for several tasks, cold and cached."""
    from django.core.management import call_command

    from catalog.embedding.configured_embedder import answering_embedder
    from lab.bench.world import build_world

    call_command("migrate", verbosity=0)
    small = size < 5000
    world = build_world(
        capabilities=size,
        users=200 if small else 1000,
        groups=20 if small else 50,
        model=answering_embedder().name,
    )
    sizes = [count for count, _ in world.callers]
    figures: dict[str, Any] = {"size": size, "usable": spread(sizes)}
    for intents in ("single", "multi"):
        messages = texts(intents, calls)
        forget_vectors()
        figures[intents] = {state: _time(messages, world.callers) for state in ("cold", "cached")}
    forget_vectors()
    figures["caller of 3,000"] = _time(
        texts("single", calls, seed=2), [min(world.callers, key=lambda pair: abs(pair[0] - 3000))]
    )
    return figures


def forget_vectors() -> None:
    """Clear the query cache of this process and of Redis."""
    from django.conf import settings
    from redis import Redis

    from catalog.embedding import query_vectors

    with Redis.from_url(settings.REDIS_URL) as redis:
        for key in redis.scan_iter(count=1000):
            redis.delete(key)
    query_vectors._cache.clear()


def texts(split: str, count: int, seed: int = 1) -> list[str]:
    """Yield natural messages, all different."""
    from discovery.evaluation import read_queries
    from marketplace.offers.kinds.starter import FOLDER

    messages = [row.query for row in read_queries(FOLDER / "labelled") if row.split == split]
    dice = random.Random(seed)
    varied = [f"{opening}{message}" for opening in OPENINGS for message in messages]
    return dice.sample(varied, min(count, len(varied)))


def _time(texts: Iterable[str], callers: list[tuple[int, Any]]) -> dict[str, Any]:
    from discovery.select import selector
    from discovery.select.selection import SelectRequest

    dice, rows = random.Random(7), []
    processor: list[dict[str, float]] = []
    wall_only = selector._Stopwatch
    selector._Stopwatch = partial(_BothWatches, wall_only, processor)  # type: ignore[assignment, misc]
    try:
        for text in texts:
            asked = SelectRequest(message=text, caller=dice.choice(callers)[1])
            rows.append(selector.select_capabilities(asked).timings)
    finally:
        selector._Stopwatch = wall_only  # type: ignore[misc]
    ratios = [row["total"] / row["embedding"] for row in rows if row["embedding"]]
    wall = {part: spread([row[part] for row in rows]) for part in PARTS}
    cpu = {part: spread([row[part] for row in processor]) for part in PARTS}
    return wall | {"cpu": cpu, "total/embedding": spread(ratios)}


class _BothWatches:
    """A selection's stopwatch, measuring the CPU time of this process as well."""

    def __init__(self, wall: Callable[[], Any], rows: list[dict[str, float]]) -> None:
        self._wall, self._rows = wall(), rows
        self._parts: dict[str, float] = {}
        self._started = time.process_time()

    def lap(self, part: str) -> None:
        self._wall.lap(part)
        self._parts[part] = self._passed() - sum(self._parts.values())

    def finish(self) -> dict[str, float]:
        self._rows.append(self._parts | {"total": self._passed()})
        timings: dict[str, float] = self._wall.finish()
        return timings

    def _passed(self) -> float:
        return (time.process_time() - self._started) * 1000


def spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(len(ordered) * 0.95)], 2),
        "max": round(ordered[-1], 2),
    }


if __name__ == "__main__":
    main()
