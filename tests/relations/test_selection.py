"""Effects of relations on a selection, which never exceed the caller's rights."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from catalog.models import Capability, Rule
from catalog.relations.relations import relate
from discovery.select.selection import Selected, Selection, SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, lay_down, take_away

pytestmark = pytest.mark.django_db
MESSAGE = "send an email to the team"


@pytest.fixture
def people() -> People:
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
def test_need_comes_with_what_needs_it(people: People, number: int) -> None:
    clutter(people, number)

    selection = ask(people)

    page = named(selection, "wiki__read_page")
    assert page is not None
    assert page.reasons == ("Required by gmail__send_email",)
    assert page.needed_by == "gmail__send_email"
    assert 0 < page.score <= 0.15
    assert len(selection.selected) <= 10
    scores = [item.score for item in selection.selected]
    assert scores == sorted(scores, reverse=True)


def test_it_is_pulled_in_after_what_fits(people: People) -> None:
    clutter(people)

    selection = ask(people)

    assert selection.selected[0].full_name == "gmail__send_email"
    assert selection.selected[-1].full_name == "wiki__read_page"
    assert len(selection.selected) == 10


def test_graph_can_be_switched_off(people: People) -> None:
    clutter(people)

    assert named(ask(people, use_graph=False), "wiki__read_page") is None
    with_graph, without = ask(people).ranking, ask(people, use_graph=False).ranking
    assert set(with_graph) == set(without)


def test_setting_switches_it_off(people: People, settings: object) -> None:
    clutter(people)
    settings.PEGBOARD_GRAPH_BOOST = 0.0  # type: ignore[attr-defined]

    assert named(ask(people), "wiki__read_page") is None


def test_composed_with_is_pulled_in_and_says_so(people: People) -> None:
    other = CapabilityFactory.create(integration=people.gmail, action="zzz", description="Unlike.")
    relate(by=None, source=other, target=people.send, kind="COMPOSED_WITH", weight=1.0)
    clutter(people)

    found = named(ask(people), "gmail__zzz")

    assert found is not None
    assert found.reasons == ("Used together with gmail__send_email",)


def test_related_results_gain_and_say_by_whom(people: People) -> None:
    other = CapabilityFactory.create(
        integration=people.gmail, action="draft", description="Write an email to the team."
    )
    relate(by=None, source=people.send, target=other, kind="DECLARED", weight=1.0)

    before, after = (named(ask(people, use_graph=use), "gmail__draft") for use in (False, True))

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
def test_nothing_is_pulled_in_past_rights(people: People, loss: Callable[[People], object]) -> None:
    clutter(people)

    loss(people)

    assert "wiki" not in str(ask(people).selected)


def test_nothing_is_pulled_in_past_the_kind(people: People) -> None:
    clutter(people)
    change(people.read_page, kind="skill")

    assert named(ask(people, kind="tool"), "wiki__read_page") is None
    assert named(ask(people), "wiki__read_page") is not None


def test_what_is_asked_first_says_so(people: People) -> None:
    clutter(people)
    change(people.read_page, ai_access="propose")

    page = named(ask(people), "wiki__read_page")

    assert page is not None
    assert page.asks_first
    assert "Each call needs approval" in page.reasons


def test_small_talk_pulls_nothing_in(people: People) -> None:
    assert ask(people, "thanks a lot!").selected == ()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_places_are_not_exceeded(people: People, most: int) -> None:
    clutter(people, 5)

    selection = ask(people, max_tools=most)

    assert len(selection.selected) <= most
    assert selection.selected[0].full_name == "gmail__send_email"


def test_hidden_neighbours_change_no_answer(people: People) -> None:
    CapabilityFactory.create_batch(
        3, integration=people.gmail, description=MESSAGE, tags=["mail", "team"], category="post"
    )
    clutter(people, 5)
    before = ask(people)

    for number in range(9):
        hidden = CapabilityFactory.create(
            integration=people.payroll,
            action=f"send_email_{number}",
            description=MESSAGE,
            tags=["mail", "team"],
            category="post",
            required_tools=["gmail__send_email"],
        )
        relate(by=None, source=people.send, target=hidden, kind="DEPENDS_ON", weight=1.0)
        relate(by=None, source=hidden, target=people.search, kind="COMPOSED_WITH", weight=1.0)
    after = ask(people)

    assert after.selected == before.selected
    assert (after.ranking, after.reason) == (before.ranking, before.reason)
    assert after.excluded_count == before.excluded_count


@pytest.mark.parametrize("use_graph", [True, False])
def test_one_statement_with_and_without(people: People, use_graph: bool) -> None:
    ask(people, use_graph=use_graph)

    with CaptureQueriesContext(connection) as statements:
        ask(people, use_graph=use_graph)

    assert len(statements) == 1


def test_who_needs_another_is_not_called_directly(people: People) -> None:
    name = "call gmail__send_email"
    assert ask(people, name, use_graph=False).direct == "gmail__send_email"

    assert ask(people, name).direct is None
