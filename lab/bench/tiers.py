"""The cost of tier 0: cached by the digest of rights, read anew, and computed in SQL.

    DATABASE_URL=… REDIS_URL=… python -m lab.bench.tiers 5000    # an empty database to fill

Prints medians in milliseconds over callers of all sizes.
"""

import statistics
import sys
import time
from collections.abc import Callable

import django

from acl.rights.caller_lookup import Caller

ROUNDS = 5


def main() -> None:
    """Build a world of that size and measure."""
    django.setup()
    from django.core.management import call_command

    from lab.bench.world import build_world

    size = int(sys.argv[1])
    call_command("migrate", verbosity=0)
    world = build_world(capabilities=size, users=min(1000, size), groups=50, model="made-up")
    callers = [caller for _, caller in world.callers][:: max(1, len(world.callers) // 40)]
    parts = " · ".join(f"{label} {_median(part, callers):.2f}" for label, part in _ways().items())
    print(f"{size:,}: {parts}")


def _ways() -> dict[str, Callable[[Caller], object]]:
    from catalog.access.usable_ids import usable_ids
    from discovery.answer.modes import measure
    from discovery.answer.tiers import read_categories, read_state

    return {
        "rights alone": measure,
        "with the digest": lambda caller: read_state(caller, keys=[], full=[]),
        "all ids": usable_ids,
        "read anew": read_categories,
        "in SQL": _in_sql,
    }


def _in_sql(caller: Caller) -> object:
    from django.db import connection

    from acl.rights.statement import rights_parameters, rights_sql
    from catalog.querysets import TABLES

    statement = f"""WITH RECURSIVE {rights_sql(TABLES)}
        SELECT c.category, count(*), (array_agg(c.full_name ORDER BY c.full_name))[1:4]
        FROM usable JOIN catalog_capability c ON c.id = usable.id GROUP BY 1"""  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(statement, rights_parameters(caller))
        return cursor.fetchall()


def _median(part: Callable[[Caller], object], callers: list[Caller]) -> float:
    part(callers[0])
    spent = []
    for _ in range(ROUNDS):
        for caller in callers:
            started = time.perf_counter()
            part(caller)
            spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
