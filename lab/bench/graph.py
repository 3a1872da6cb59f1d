"""The cost of relations in a selection: the same messages with and without, alternately.

    DATABASE_URL=… python -m lab.bench.graph    # an empty database, which it fills

Prints milliseconds of all but the embedding, medians and their ratio, for callers of all sizes and
for one who may use all 5,000; and the time to build the graph.
"""

import random
import statistics
import time
from collections.abc import Sequence

import django

from acl.rights.caller_lookup import Caller

SIZE = 5000


def main() -> None:
    """Build the world, relate it, and measure."""
    django.setup()
    from django.core.management import call_command

    from catalog.embedding.configured_embedder import answering_embedder
    from lab.bench.world import build_world

    call_command("migrate", verbosity=0)
    name = answering_embedder().name
    world = build_world(capabilities=SIZE, users=1000, groups=50, model=name)
    seconds = relate_at_random()
    everything = caller_of_everything()
    print(f"building the graph of {SIZE:,}: {seconds:.1f} s")
    for label, callers in (
        ("callers of all sizes", [caller for _, caller in world.callers]),
        ("one who may use all", [everything]),
    ):
        with_graph, without = measure(callers)
        ratio = with_graph / without
        print(f"{label}: {without:.2f} without, {with_graph:.2f} with, {ratio:.2f}")


def relate_at_random() -> float:
    """Add up to three needs within the integration, four tags, and categories of all sizes; return
    the seconds that the graph took to build."""
    from django.db import connection

    from catalog.models import Capability
    from catalog.relations.relations import refresh_relations

    dice, rows = random.Random(3), list(Capability.objects.order_by("pk"))
    siblings: dict[int, list[str]] = {}
    for row in rows:
        siblings.setdefault(row.integration_id, []).append(row.full_name)
    for row in rows:
        others = [name for name in siblings[row.integration_id] if name != row.full_name]
        row.required_tools = dice.sample(others, min(len(others), dice.choice([0, 0, 1, 1, 2, 3])))
        row.tags = [f"t{dice.randrange(300)}" for _ in range(3)] + [f"i{row.integration_id}"]
        large = dice.random() < 0.7
        row.category = f"c{dice.randrange(40)}" if large else f"d{row.integration_id}"
    Capability.objects.bulk_update(rows, ["required_tools", "tags", "category"], batch_size=500)
    started, keys = time.perf_counter(), [row.pk for row in rows]
    for first in range(0, len(keys), 500):
        refresh_relations(keys[first : first + 500])
    seconds = time.perf_counter() - started
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    return seconds


def caller_of_everything() -> Caller:
    from django.contrib.auth.models import Group, User

    from acl.models import GroupPolicy, Space

    group, user = Group.objects.create(name="all"), User.objects.create(username="everyone")
    GroupPolicy.objects.update_or_create(group=group, defaults={"open_default": True})
    Space.objects.get_or_create(group=group, parent=None, defaults={"name": "root", "slug": "root"})
    user.groups.add(group)
    return Caller(user.pk, group.pk)


def measure(callers: Sequence[Caller], calls: int = 120) -> tuple[float, float]:
    """Return medians with and without relations, for each message and caller in turn."""
    from discovery.select.selection import SelectRequest
    from discovery.select.selector import select_capabilities
    from lab.bench.selection import texts

    dice = random.Random(9)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for number, text in enumerate(texts("single", calls) + texts("multi", calls // 4)):
        caller = dice.choice(callers)
        select_capabilities(SelectRequest(text, caller, use_graph=False))  # caches the vectors
        for use_graph in (True, False, True, False) if number % 2 else (False, True, False, True):
            spent = select_capabilities(SelectRequest(text, caller, use_graph=use_graph)).timings
            taken[use_graph].append(spent["total"] - spent["embedding"])
    return statistics.median(taken[True]), statistics.median(taken[False])


if __name__ == "__main__":
    main()
