"""Neighbours as a caller sees them; hidden capabilities neither add nor remove any."""

import pytest

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.capabilities.catalog_queries import statistics
from catalog.models import Capability, Edge
from catalog.relations.neighbours import MAX_PER_TYPE, count_edges
from catalog.relations.relations import EdgeRefused, find_neighbours, relate, unrelate
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, IntegrationFactory, give

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> People:
    return invite()


def told(caller: Caller, name: str, kind: str = "") -> list[tuple[str, str, float]]:
    """Return type, action and weight of each neighbour, in order."""
    found = find_neighbours(caller=caller, full_name=name, kind=kind)
    assert found is not None
    return [(one.type, one.full_name.split("__")[1], one.weight) for one in found.neighbours]


def tagged(people: People, *actions: str, hidden: bool = False, **values: object) -> None:
    """Create tools with the tags mail and post, usable by alice or by nobody."""
    integration = people.payroll if hidden else people.gmail
    for action in actions:
        CapabilityFactory.create(
            **{"integration": integration, "action": action, "tags": ["mail", "post"], **values}
        )


def test_two_shared_tags_relate(people: People) -> None:
    tagged(people, "a", "b", category="letters")
    tagged(people, "c", category="parcels", tags=["mail", "stamp"])

    assert told(people.caller, "gmail__a", "TAGGED_WITH") == [("TAGGED_WITH", "b", 0.6)]


def test_more_shared_tags_weigh_more_up_to_a_bound(people: People) -> None:
    tagged(people, "a", "b", tags=["a", "b", "c", "d", "e"])

    assert told(people.caller, "gmail__a", "TAGGED_WITH") == [("TAGGED_WITH", "b", 0.9)]


def test_tag_that_many_have_relates_nothing(people: People) -> None:
    tagged(people, "a", "b", "c", "d", "e")
    assert len(told(people.caller, "gmail__a", "TAGGED_WITH")) == 4

    tagged(people, "f")

    assert told(people.caller, "gmail__a", "TAGGED_WITH") == []


def test_small_category_relates_and_a_large_one_does_not(people: People) -> None:
    tagged(people, *"abcdefgh", category="letters", tags=[])
    assert len(told(people.caller, "gmail__a", "SAME_CATEGORY")) == 7
    assert told(people.caller, "gmail__a")[0] == ("SAME_CATEGORY", "b", 0.1)

    tagged(people, "i", category="letters", tags=[])

    assert told(people.caller, "gmail__a") == []


def test_category_of_another_kind_does_not_relate(people: People) -> None:
    tagged(people, "a", category="letters", tags=[])
    tagged(people, "b", category="letters", tags=[], kind="skill")

    assert told(people.caller, "gmail__a") == []


def test_hidden_ones_neither_are_neighbours_nor_end_any(people: People) -> None:
    tagged(people, *"abcde", category="letters")
    before = told(people.caller, "gmail__a"), statistics(caller=people.caller)

    tagged(people, *"fghijklmn", category="letters", hidden=True)
    tagged(people, *"opqrstuvw", category="letters", state="quarantined")

    assert (told(people.caller, "gmail__a"), statistics(caller=people.caller)) == before
    assert len(before[0]) == 8


def test_group_that_is_too_large_for_all_is_small_for_one(people: People) -> None:
    tagged(people, "a", "b", category="letters", tags=[])
    tagged(people, *"cdefghijk", category="letters", tags=[], hidden=True)

    assert told(people.caller, "gmail__a") == [("SAME_CATEGORY", "b", 0.1)]
    assert told(people.stranger, "payroll__c") == []


def test_hidden_end_hides_the_edge(people: People) -> None:
    for other in (people.pay, people.delete_page, people.read_page):
        relate(by=None, source=people.send, target=other, kind="DEPENDS_ON", weight=1.0)

    assert told(people.caller, "gmail__send_email") == [("DEPENDS_ON", "read_page", 1.0)]
    assert find_neighbours(caller=people.caller, full_name="payroll__pay") is None
    assert count_edges(people.caller) == 1


def test_neighbours_are_capped_by_weight(people: People) -> None:
    for number in range(MAX_PER_TYPE + 3):
        other = CapabilityFactory.create(integration=people.gmail, action=f"n{number:02}")
        weight = 1 - number / 100
        relate(by=None, source=people.send, target=other, kind="DECLARED", weight=weight)

    found = told(people.caller, "gmail__send_email", "DECLARED")
    assert [action for _, action, _ in found] == [f"n{n:02}" for n in range(MAX_PER_TYPE)]


def test_what_is_not_connected_is_left_out_with_a_hint(people: People) -> None:
    away = IntegrationFactory.create(slug="away", connection="disconnected")
    give(away, people.support)
    other = CapabilityFactory.create(integration=away, action="gone")
    relate(by=None, source=people.send, target=other, kind="DEPENDS_ON", weight=1.0)

    found = find_neighbours(caller=people.caller, full_name="gmail__send_email")

    assert found is not None
    assert found.neighbours == ()
    assert [one.full_name for one in found.disconnected] == ["away__gone"]
    assert statistics(caller=people.caller).graph_edges == 0


def test_direction_is_told_from_where_one_stands(people: People) -> None:
    relate(by=None, source=people.send, target=people.search, kind="DEPENDS_ON", weight=1.0)

    directions = [
        one.direction
        for name in ("gmail__send_email", "gmail__search")
        if (found := find_neighbours(caller=people.caller, full_name=name))
        for one in found.neighbours
    ]

    assert directions == ["out", "in"]


def test_admin_has_the_last_word(people: People) -> None:
    Edge.objects.create(
        source=people.send, target=people.search, kind="DEPENDS_ON", weight=1, origin="metadata"
    )

    relate(by=None, source=people.send, target=people.search, kind="DEPENDS_ON", weight=0.2)
    assert told(people.caller, "gmail__send_email") == [("DEPENDS_ON", "search", 0.2)]

    assert unrelate(by=None, source=people.send, target=people.search, kind="DEPENDS_ON")
    assert told(people.caller, "gmail__send_email") == []
    assert count_edges(people.caller) == 0
    assert not unrelate(by=None, source=people.send, target=people.search, kind="DEPENDS_ON")


def test_edge_by_tags_can_be_taken_away(people: People) -> None:
    tagged(people, "a", "b", category="letters")
    a, b = (Capability.objects.get(action=action) for action in "ab")

    unrelate(by=None, source=b, target=a, kind="TAGGED_WITH")

    assert told(people.caller, "gmail__a") == [("SAME_CATEGORY", "b", 0.1)]


def test_edge_of_an_admin_is_gone_when_it_is_removed(people: People) -> None:
    relate(by=None, source=people.search, target=people.send, kind="COMPOSED_WITH", weight=1.0)

    assert unrelate(by=None, source=people.send, target=people.search, kind="COMPOSED_WITH")

    assert not Edge.objects.exists()
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions)[-2:] == ["edge.add", "edge.remove"]


def test_nothing_is_related_to_itself(people: People) -> None:
    with pytest.raises(EdgeRefused):
        relate(by=None, source=people.send, target=people.send, kind="DECLARED", weight=1.0)
