"""Neighbours and figures against the oracle, in random worlds."""

from itertools import combinations
from random import Random

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Edge
from catalog.relations.neighbours import count_edges, load_neighbours
from catalog.relations.stored_links import refresh_links
from tests.access.random_worlds import CAPABILITIES, callers_of, random_world
from tests.access.worlds import store
from tests.examples import EXAMPLES
from tests.oracle import World

# By both ends, sorted by id unless the kind has a direction.
Edges = set[tuple[int, int, str]]
DIRECTED = ("DEPENDS_ON", "DECLARED")


def draw(random: Random) -> tuple[dict[int, set[str]], dict[int, str], Edges]:
    """Draw tags, categories and stored edges of each capability."""
    tags = {pk: set(random.sample("abcdefg", random.randrange(5))) for pk in CAPABILITIES}
    categories = {pk: random.choice(["one", "two", "three"]) for pk in CAPABILITIES}
    edges: Edges = set()
    for _ in range(random.randrange(15)):
        one, other = random.sample(list(CAPABILITIES), 2)
        kind = random.choice(["DEPENDS_ON", "DECLARED", "COMPOSED_WITH"])
        if kind not in DIRECTED:
            one, other = min(one, other), max(one, other)
        edges.add((one, other, kind))
    return tags, categories, edges


def write(tags: dict[int, set[str]], categories: dict[int, str], edges: Edges) -> None:
    for pk in CAPABILITIES:
        Capability.objects.filter(pk=pk).update(tags=sorted(tags[pk]), category=categories[pk])
    refresh_links(list(CAPABILITIES))
    Edge.objects.bulk_create(
        Edge(source_id=one, target_id=other, kind=kind, weight=0.5, origin="admin")
        for one, other, kind in edges
    )


def expected(
    usable: set[int], tags: dict[int, set[str]], categories: dict[int, str], edges: Edges
) -> Edges:
    """Compute all edges among usable capabilities by the documented rules."""
    having = {tag: {pk for pk in usable if tag in tags[pk]} for tag in "abcdefg"}
    counting = {tag for tag, them in having.items() if len(them) <= max(5, len(usable) // 10)}
    found = {edge for edge in edges if {edge[0], edge[1]} <= usable}
    for one, other in combinations(sorted(usable), 2):
        if len(tags[one] & tags[other] & counting) >= 2:
            found.add((one, other, "TAGGED_WITH"))
        alike = [pk for pk in usable if categories[pk] == categories[one]]
        if categories[one] == categories[other] and len(alike) <= 8:
            found.add((one, other, "SAME_CATEGORY"))
    return found


def told(caller: Caller, usable: set[int]) -> Edges:
    """Collect the same edges from each capability's neighbours."""
    keys = dict(Capability.objects.values_list("full_name", "pk"))
    names = {pk: name for name, pk in keys.items()}
    found = set()
    for pk in usable:
        around = load_neighbours(caller, names[pk])
        assert around is not None
        for one in around.neighbours:
            ends = (pk, keys[one.full_name])
            if one.direction == "in" or (one.direction == "both" and ends[0] > ends[1]):
                ends = (ends[1], ends[0])
            found.add((*ends, one.type))
    return found


@pytest.mark.django_db
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_neighbours_are_those_of_the_oracle(seed: int) -> None:
    random = Random(seed)
    world: World = random_world(random)
    drawn = draw(random)
    callers = callers_of(world, random)[:6]

    with transaction.atomic():
        store(world)
        write(*drawn)
        answers = {caller: told(caller, set(world.usable(caller))) for caller in callers}
        counted = {caller: count_edges(caller) for caller in callers}
        foreign = [
            load_neighbours(caller, f"integration-{facts.integration}__action_{pk}")
            for caller in callers
            for pk, facts in world.capabilities.items()
            if pk not in world.usable(caller)
        ]
        transaction.set_rollback(True)

    for caller in callers:
        edges = expected(set(world.usable(caller)), *drawn)
        assert answers[caller] == edges
        assert counted[caller] == len(edges)
    assert not any(foreign)
