"""Retention over many turns: its time, and how long others had to wait meanwhile.

    python -m lab.bench.retention 1000000

Starts its own servers. Half of the turns are older than their term. Meanwhile another connection
records turns and outcomes, as a selection does; the longest of its transactions is the wait.
"""

import sys
import time
from threading import Event, Thread

import django

from lab.bench.inside import run_inside


def main() -> None:
    """Start the servers, and measure in a process that knows them."""
    if "--inside" in sys.argv:
        _print(measure(int(sys.argv[-1])))
        return
    run_inside("lab.bench.retention", "--inside", sys.argv[1] if len(sys.argv) > 1 else "100000")


def measure(turns: int) -> dict[str, float]:
    """Return the figures of one run by name."""
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from lab.bench.insights import fill
    from marketplace.operate.retention import apply_terms

    call_command("migrate", verbosity=0)
    fill(turns)
    settings.PEGBOARD_TURN_DAYS = 30  # of the sixty that the turns cover
    stop, waits = Event(), [0.0]
    alone = _record_until(Event(), [], 200)
    other = Thread(target=_record_until, args=(stop, waits))
    other.start()
    started = time.perf_counter()
    removed = sum(apply_terms(seconds=36_000).values())
    seconds = time.perf_counter() - started
    stop.set()
    other.join()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM discovery_dayfigures")
        [sums] = cursor.fetchone()
    return {
        "turns": turns,
        "rows removed": removed,
        "rows of sums": sums,
        "seconds": seconds,
        "rows a second": removed / seconds,
        "others' transactions meanwhile": len(waits) - 1,
        "their 99 % in ms": sorted(waits)[int(len(waits) * 0.99) - 1] * 1000,
        "their longest in ms": max(waits) * 1000,
        "their longest without the sweep, in ms": max(alone) * 1000,
    }


def _record_until(stop: Event, waits: list[float], most: int = sys.maxsize) -> list[float]:
    """Record and complete turns until told to stop; append how long each took."""
    from django.contrib.auth.models import User
    from django.db import connection, transaction

    from discovery.models import Outcome, Turn

    person = User.objects.exclude(groups=None)[0]
    group = person.groups.all()[0]
    while not stop.is_set() and len(waits) < most:
        started = time.perf_counter()
        with transaction.atomic():
            turn = Turn.objects.create(user=person, group=group)
            Outcome.objects.create(
                turn=turn, group=group, status="success", score=1, source="reported",
                at=turn.created_at,
            )  # fmt: skip
        waits.append(time.perf_counter() - started)
        time.sleep(0.01)
    if most == sys.maxsize:
        connection.close()
    return waits


def _print(figures: dict[str, float]) -> None:
    print("| figure | value |\n|---|--:|")
    for name, value in figures.items():
        print(f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
