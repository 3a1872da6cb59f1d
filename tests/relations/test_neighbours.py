"""Neighbours as a caller sees them, and their effects on a selection, within rights."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acl.models import AuditEntry, Space
from acl.rights.caller_lookup import Caller
from catalog.capabilities.catalog_queries import statistics
from catalog.models import Capability, Edge, Rule
from catalog.relations.neighbours import MAX_PER_TYPE, count_edges
from catalog.relations.relations import EdgeRefused, find_neighbours, relate, unrelate
from discovery.select.selection import Selected, Selection, SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down, take_away

pytestmark = pytest.mark.django_db


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


MESSAGE = "send an email to the team"


@pytest.fixture
def selection_people() -> People:
    """gmail__send_email needs wiki__read_page, which no message mentions."""
    people = invite()
    relate(by=None, source=people.send, target=people.read_page, kind="DEPENDS_ON", weight=1.0)
    return people


def ask(people: People, message: str = MESSAGE, **options: object) -> Selection:
    return select_capabilities(SelectRequest(message, people.caller, **options))  # type: ignore[arg-type]


def named(selection: Selection, name: str) -> Selected | None:
    return next((item for item in selection.selected if item.full_name == name), None)


def clutter(people: People, number: int = 70) -> None:
    """Create so many weak matches that nothing else is found by itself."""
    for place in range(number):
        CapabilityFactory.create(
            integration=people.gmail,
            action=f"thing_{place}",
            description=f"A thing of the team, number {place}.",
        )


@pytest.mark.parametrize("number", [0, 70])
def test_need_comes_with_what_needs_it(selection_people: People, number: int) -> None:
    clutter(selection_people, number)

    selection = ask(selection_people)

    page = named(selection, "wiki__read_page")
    assert page is not None
    assert page.reasons == ("Required by gmail__send_email",)
    assert page.needed_by == "gmail__send_email"
    assert 0 < page.score <= 0.15
    assert len(selection.selected) <= 10
    scores = [item.score for item in selection.selected]
    assert scores == sorted(scores, reverse=True)


def test_it_is_pulled_in_after_what_fits(selection_people: People) -> None:
    clutter(selection_people)

    selection = ask(selection_people)

    assert selection.selected[0].full_name == "gmail__send_email"
    assert selection.selected[-1].full_name == "wiki__read_page"
    assert len(selection.selected) == 10


def test_graph_can_be_switched_off(selection_people: People) -> None:
    clutter(selection_people)

    assert named(ask(selection_people, use_graph=False), "wiki__read_page") is None
    with_graph, without = (
        ask(selection_people).ranking,
        ask(selection_people, use_graph=False).ranking,
    )
    assert set(with_graph) == set(without)


def test_setting_switches_it_off(selection_people: People, settings: object) -> None:
    clutter(selection_people)
    settings.PEGBOARD_GRAPH_BOOST = 0.0  # type: ignore[attr-defined]

    assert named(ask(selection_people), "wiki__read_page") is None


def test_composed_with_is_pulled_in_and_says_so(selection_people: People) -> None:
    other = CapabilityFactory.create(
        integration=selection_people.gmail, action="zzz", description="Unlike."
    )
    relate(by=None, source=other, target=selection_people.send, kind="COMPOSED_WITH", weight=1.0)
    clutter(selection_people)

    found = named(ask(selection_people), "gmail__zzz")

    assert found is not None
    assert found.reasons == ("Used together with gmail__send_email",)


def test_related_results_gain_and_say_by_whom(selection_people: People) -> None:
    other = CapabilityFactory.create(
        integration=selection_people.gmail,
        action="draft",
        description="Write an email to the team.",
    )
    relate(by=None, source=selection_people.send, target=other, kind="DECLARED", weight=1.0)

    before, after = (
        named(ask(selection_people, use_graph=use), "gmail__draft") for use in (False, True)
    )

    assert before is not None
    assert after is not None
    assert before.score < after.score < 1
    assert "Related to gmail__send_email, which also matches" in after.reasons
    assert sum(after.evidence.values()) == pytest.approx(after.score, abs=0.001)


LOSSES: dict[str, Callable[[People], object]] = {
    "revoked": lambda people: take_away(people.read_page, people.support),
    "denied": lambda people: lay_down(
        Rule.Effect.DENY, people.read_page, Space.objects.get(group=people.support)
    ),
    "unavailable": lambda people: change(people.read_page, available=False),
    "blocked": lambda people: change(people.read_page, ai_access="blocked"),
    "quarantined": lambda people: change(people.read_page, state="quarantined"),
}


def change(capability: Capability, **values: object) -> None:
    Capability.objects.filter(pk=capability.pk).update(**values)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_nothing_is_pulled_in_past_rights(
    selection_people: People, loss: Callable[[People], object]
) -> None:
    clutter(selection_people)

    loss(selection_people)

    assert "wiki" not in str(ask(selection_people).selected)


def test_nothing_is_pulled_in_past_the_kind(selection_people: People) -> None:
    clutter(selection_people)
    change(selection_people.read_page, kind="skill")

    assert named(ask(selection_people, kind="tool"), "wiki__read_page") is None
    assert named(ask(selection_people), "wiki__read_page") is not None


def test_what_is_asked_first_says_so(selection_people: People) -> None:
    clutter(selection_people)
    change(selection_people.read_page, ai_access="propose")

    page = named(ask(selection_people), "wiki__read_page")

    assert page is not None
    assert page.asks_first
    assert "Each call needs approval" in page.reasons


def test_small_talk_pulls_nothing_in(selection_people: People) -> None:
    assert ask(selection_people, "thanks a lot!").selected == ()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_places_are_not_exceeded(selection_people: People, most: int) -> None:
    clutter(selection_people, 5)

    selection = ask(selection_people, max_tools=most)

    assert len(selection.selected) <= most
    assert selection.selected[0].full_name == "gmail__send_email"


def test_hidden_neighbours_change_no_answer(selection_people: People) -> None:
    CapabilityFactory.create_batch(
        3,
        integration=selection_people.gmail,
        description=MESSAGE,
        tags=["mail", "team"],
        category="post",
    )
    clutter(selection_people, 5)
    before = ask(selection_people)

    for number in range(9):
        hidden = CapabilityFactory.create(
            integration=selection_people.payroll,
            action=f"send_email_{number}",
            description=MESSAGE,
            tags=["mail", "team"],
            category="post",
            required_tools=["gmail__send_email"],
        )
        relate(by=None, source=selection_people.send, target=hidden, kind="DEPENDS_ON", weight=1.0)
        relate(
            by=None,
            source=hidden,
            target=selection_people.search,
            kind="COMPOSED_WITH",
            weight=1.0,
        )
    after = ask(selection_people)

    assert after.selected == before.selected
    assert (after.ranking, after.reason) == (before.ranking, before.reason)
    assert after.excluded_count == before.excluded_count


@pytest.mark.parametrize("use_graph", [True, False])
def test_one_statement_with_and_without(selection_people: People, use_graph: bool) -> None:
    ask(selection_people, use_graph=use_graph)

    with CaptureQueriesContext(connection) as statements:
        ask(selection_people, use_graph=use_graph)

    assert len(statements) == 1


def test_who_needs_another_is_not_called_directly(selection_people: People) -> None:
    name = "call gmail__send_email"
    assert ask(selection_people, name, use_graph=False).direct == "gmail__send_email"

    assert ask(selection_people, name).direct is None
