"""States of an answer, and tools that everyone may ask for where nothing else fits."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from guardian.shortcuts import assign_perm

from acl.models import ServiceAccount, Space
from catalog.access.grants import set_requestable
from catalog.embedding.jobs import embed_pending
from catalog.models import Capability, Integration, Rule
from catalog.relations.relations import relate
from discovery.select.example_texts import COMPARED, SAME, NearAbilities
from discovery.select.helping_offers import HelpOffer
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns._plan import Plan, Wanted, plan_turn
from marketplace.listings.search import embed_listings
from marketplace.listings.store import store_listings
from marketplace.models import Listing
from marketplace.offers.kinds.starter import starter_listings
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.select.conftest import Shop, names

NOTHING = ["return the shoes I ordered", "order a pizza", "hack the planet"]


@pytest.mark.parametrize("message", NOTHING)
def test_nothing_fits_and_says_so(shop: Shop, message: str) -> None:
    selection = shop.ask(message)

    assert (selection.fit, names(selection)) == ("nothing_fits", ["tool_discovery__find"])
    assert selection.reason == "Nothing you can use fits this message."
    assert {offer.kind for offer in selection.help} >= {"discovery", "request"}


@pytest.mark.parametrize(
    ("message", "server"),
    [("email", "gmail"), ("check my email", "gmail"), ("calendar", "google_calendar"),
     ("my calendar", "google_calendar"), ("weather", "weather")],
)  # fmt: skip
def test_message_of_one_noun_gets_the_tools_for_it(shop: Shop, message: str, server: str) -> None:
    selection = shop.ask(message)

    assert selection.fit == "fits"
    assert names(selection)[0].partition("__")[0] == server


@pytest.mark.parametrize("about", ["cats", "flights to rome", "a plumber nearby"])
def test_common_ability_that_is_at_hand_speaks_against_nothing(shop: Shop, about: str) -> None:
    selection = shop.ask(f"search the web for {about}")

    assert (selection.fit, names(selection)[0]) == ("fits", "web-search")


def test_abilities_that_a_candidate_has_are_left_out_for_each_text() -> None:
    falling = np.linspace(0.9, 0.2, COMPARED, dtype=np.float32)
    near = NearAbilities(np.stack([falling, falling / 2]), np.empty((2 * COMPARED, 3), np.float32))
    has = [0.0] * 2 * COMPARED
    has[0] = has[2] = SAME  # of the first text's

    assert near.nearness([]) == near.nearness([0.0] * len(has)) == pytest.approx((0.8, 0.4))
    assert near.nearness(has) == pytest.approx(((0.8 + 0.6 + 0.5) / 3, 0.4))
    assert near.nearness([1.0] * len(has)) == pytest.approx((0.2, 0.1))


@pytest.mark.parametrize(
    "message",
    ["what is the capital of Peru", "how many orders did we have last month", "check my email",
     "block this spammer", "query the replica for inactive users", "is it raining in Oslo"],
)  # fmt: skip
def test_sentence_says_no_more_than_the_scores(shop: Shop, message: str) -> None:
    selection = shop.ask(message)

    best = max((item.score for item in selection.selected if not item.pinned), default=0.0)
    says_match = "match" in selection.reason
    assert says_match == (selection.fit == "fits" and best >= 0.3)
    assert selection.fit != "fits" or best >= 0.13


@pytest.mark.parametrize("message", NOTHING)
def test_every_way_to_ask_says_so(shop: Shop, client: Client, message: str) -> None:
    client.force_login(User.objects.get(username="alice"))

    answers = [_post(client, path, message=message) for path in ("select", "plan", "discover")]
    found = _post(client, "meta/search_tools", arguments={"query": message})["result"]

    assert {answer["fit"] for answer in answers} == {"nothing_fits"}
    selected, planned, tiers = answers
    assert [one["full_name"] for one in selected["selected"]] == ["tool_discovery__find"]
    assert (planned["state"], planned["selected"]) == ("degraded", [])
    assert [one["full_name"] for one in tiers["tier1"]["capabilities"]] == ["tool_discovery__find"]
    assert (found["tools"], found["note"]) == ([], "Nothing fits well; these come nearest.")


@pytest.mark.parametrize("message", ["can you look into it?", "the thing we did last week"])
def test_vague_message_gets_a_question(shop: Shop, message: str) -> None:
    selection = shop.ask(message)

    assert (selection.fit, names(selection)) == ("needs_clarification", ["tool_discovery__find"])
    assert selection.question.endswith("?")
    after = shop.ask(message, history=("what did the plumber write in his email?",))
    assert after.fit == "fits"


def test_chat_about_music_is_no_request_for_it(shop: Shop) -> None:
    _add_tool("play_music", "Play music, songs and playlists.")

    assert shop.ask("Do you like music?").fit == "small_talk"


OF_ONESELF = {
    "accounts__get_me": ["who am i", "Who am I signed in as?", "show me my own profile"],
    "memories__remember": [
        "remember that I like tea",
        "please remember that Ines is allergic to nuts",
    ],
    "jira_cloud__create_issue": [
        "open a ticket for the broken printer",
        "raise a ticket about the slow lift",
        "can you file a support ticket: the heating is cold",
    ],
    "news_web__search": ["find recent news about solar panels online"],
    "": ["what is 3 plus 4?", "who are you", "thanks, see you tomorrow"],
}


def test_orders_about_oneself_are_no_small_talk(shop: Shop) -> None:
    group = Group.objects.get(name="finance")
    for slug, action, description in (
        ("accounts", "get_me", "get my user profile"),
        ("memories", "remember", "Stores and recalls memories"),
        ("news_web", "search", "Search the web"),
        ("jira_cloud", "create_issue", "Create an issue in Jira"),
    ):
        integration = IntegrationFactory.create(slug=slug)
        assign_perm("catalog.use_integration", group, integration)
        CapabilityFactory.create(integration=integration, action=action, description=description)
    embed_pending()

    first = {
        message: (names(select_capabilities(SelectRequest(message, shop.charlie))) or [""])[0]
        for messages in OF_ONESELF.values()
        for message in messages
    }

    assert first == {message: tool for tool, messages in OF_ONESELF.items() for message in messages}


def test_calendar_is_read_and_nothing_is_deleted(shop: Shop) -> None:
    found = names(shop.ask("what's on my calendar"))

    assert found[0] == "google_calendar__list_events"
    assert "google_calendar__delete_event" not in found


def test_relation_neither_raises_nor_brings_what_deletes(shop: Shop) -> None:
    by_name = {row.full_name: row for row in Capability.objects.all()}
    for kind in ("DEPENDS_ON", "COMPOSED_WITH", "DECLARED"):
        relate(
            by=None,
            source=by_name["google_calendar__list_events"],
            target=by_name["google_calendar__delete_event"],
            kind=kind,
            weight=1.0,
        )

    found = shop.ask("what's on my calendar")

    assert "google_calendar__delete_event" not in names(found)
    assert found.workings is not None
    gained = [item for item in found.workings.ranked if item.score > item.judged.score]
    assert "google_calendar__delete_event" not in {item.candidate.full_name for item in gained}


def test_clear_message_gets_few_tools_and_an_open_one_more(shop: Shop) -> None:
    clear = shop.ask("what's on my calendar")
    more = shop.ask("tell the team about the release, somehow")

    assert len(clear.selected) <= 4
    assert len(clear.selected) < len(more.selected)


@pytest.mark.parametrize(
    ("schema", "direct"),
    [
        ({}, "weather__get_current_tide"),
        (
            {"properties": {"zone": {"default": "UTC"}}, "required": ["zone"]},
            "weather__get_current_tide",
        ),
        ({"properties": {"zone": {"type": "string"}}, "required": ["zone"]}, None),
    ],
    ids=["no arguments", "with a default", "must be given"],
)
def test_one_tool_that_answers_is_named_directly(
    shop: Shop, schema: dict[str, Any], direct: str | None
) -> None:
    _add_tool("get_current_tide", "Get the current tide.", input_schema=schema, side_effect="read")

    selection = shop.ask("get the current tide")

    assert names(selection)[0] == "weather__get_current_tide"
    assert (selection.fit, selection.direct) == ("fits", direct)


@pytest.mark.parametrize(
    ("properties", "message", "is_direct"),
    [
        ({"zone": {"type": "string"}}, "measure the tide height in Lima", True),
        ({"zone": {"enum": ["Lima", "Oslo"]}}, "measure the tide height in Lima", True),
        ({"zone": {"enum": ["Quito", "Oslo"]}}, "measure the tide height in Lima", False),
        ({"hours": {"type": "integer"}}, "measure the tide height of 3 ports", True),
        ({"hours": {"type": "integer"}}, "measure the tide height for Lima", False),
        ({"day": {"type": "string", "format": "date"}}, "measure the tide height on Monday", True),
        ({"day": {"type": "string", "format": "date"}}, "measure the tide height for Lima", False),
        (
            {"names": {"type": "array", "items": {"type": "string"}}},
            "measure the tide height in Lima",
            True,
        ),
        (
            {"a": {"type": "string"}, "b": {"type": "string"}},
            "measure the tide height in Lima",
            False,
        ),
        ({"options": {"type": "object"}}, "measure the tide height in Lima", False),
    ],
)
def test_direct_holds_its_required_arguments_in_the_message(
    shop: Shop, properties: dict[str, Any], message: str, is_direct: bool
) -> None:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    _add_tool(
        "measure_tide_height", "Measure the tide height.", input_schema=schema, side_effect="read"
    )

    assert shop.ask(message).direct == ("weather__measure_tide_height" if is_direct else None)


def test_help_takes_a_fixed_number_of_statements(shop: Shop) -> None:
    shop.ask("warm up the connection")
    counts = []
    for message in ("order a pizza", "hack the planet", "order a pizza"):
        with CaptureQueriesContext(connection) as statements:
            shop.ask(message)
        counts.append(len(statements))

    assert counts == [5, 5, 5]


def test_listing_of_the_marketplace_is_offered_unless_it_is_held(shop: Shop) -> None:
    store_listings(starter_listings(), source="starter")
    embed_listings()

    before = shop.ask("commit my changes to the git branch").help
    Listing.objects.filter(slug="git").update(review=Listing.Review.HELD)
    after = shop.ask("commit my changes to the git branch").help

    assert "git" in {offer.name for offer in before if offer.kind == "listing"}
    assert "git" not in {offer.name for offer in after}


def test_help_names_nothing_that_the_caller_may_not_see(shop: Shop) -> None:
    alone = shop.ask("order a pizza")
    hidden = IntegrationFactory.create(slug="pizzeria", title="Pizzeria")
    tool = CapabilityFactory.create(
        integration=hidden, action="order_pizza", description="Order a pizza."
    )
    embed_pending()
    assign_perm("catalog.use_integration", Group.objects.get(name="finance"), hidden)

    found = shop.ask("order a pizza")

    assert (found.selected, found.fit, found.help) == (alone.selected, alone.fit, alone.help)
    assert shop.ask("order a pizza", caller=shop.charlie).selected[0].pk == tool.pk


def test_own_tool_that_does_not_work_is_offered(shop: Shop) -> None:
    _add_tool("order_pizza", "Order a pizza.", available=False)

    [offer] = [one for one in shop.ask("order a pizza").help if one.kind == "not_working"]

    assert offer.name == "weather__order_pizza"


def test_own_tool_that_needs_a_secret_is_offered_with_the_page_that_sets_it(shop: Shop) -> None:
    _add_tool("order_pizza", "Order a pizza.")
    Integration.objects.filter(slug="weather").update(
        transport="http", endpoint="https://w.example/", own_secrets=True, required_secrets=["KEY"]
    )

    [offer] = [one for one in shop.ask("order a pizza").help if one.kind == "not_working"]

    assert offer.name == "weather__order_pizza"
    assert offer.sentence.endswith("It needs a secret from you.")
    assert offer.mend_path == reverse("my-secret", args=["weather"])


@pytest.mark.parametrize("message", ["order a pizza", "hack the planet"])
def test_planner_does_what_its_policy_says(shop: Shop, message: str) -> None:
    opened, closed = _plan(shop, message, "fail_open"), _plan(shop, message, "fail_closed")

    assert (opened.state, closed.state) == ("degraded", "errored")
    assert opened.offered > closed.offered == 0
    assert opened.selection.fit == closed.selection.fit == "nothing_fits"
    assert opened.selection.help == closed.selection.help != ()


def test_planner_asks_back_where_the_message_is_vague(shop: Shop) -> None:
    plan = _plan(shop, "can you look into it?", "fail_closed")

    assert (plan.state, plan.selection.fit) == ("planned", "needs_clarification")


def _plan(shop: Shop, message: str, policy: str) -> Plan:
    return plan_turn(Wanted(SelectRequest(message, shop.alice), policy=policy))


def _post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json").json()


def _add_tool(action: str, description: str, **columns: Any) -> None:
    """Add an embedded tool to an integration that alice's group has."""
    integration = Integration.objects.get(slug="weather")
    CapabilityFactory.create(
        integration=integration, action=action, description=description, **columns
    )
    embed_pending()


MESSAGE = "order a pizza"
JSON: Any = {"content_type": "application/json"}
OFFER = HelpOffer(
    "requestable",
    "pizzeria__order_pizza",
    "Order pizza of pizzeria may help. Ask an admin for it.",
    "/tools/requests/?wish=pizzeria__order_pizza",
)


@dataclass(frozen=True)
class Pizzeria:
    """An integration of finance, which alice of support may not use, and its tool."""

    shop: Shop
    integration: Integration
    tool: Capability

    def offers(self, **options: Any) -> list[HelpOffer]:
        """Return what alice may ask for."""
        return [one for one in self.shop.ask(MESSAGE, **options).help if one.kind == "requestable"]

    def alone(self) -> Any:
        """Return alice's answer, less what differs from call to call."""
        return replace(self.shop.ask(MESSAGE), timings={}, workings=None)


@pytest.fixture
def pizzeria(shop: Shop) -> Pizzeria:
    integration = IntegrationFactory.create(slug="pizzeria", title="Pizzeria")
    tool = CapabilityFactory.create(
        integration=integration,
        action="order_pizza",
        display_name="Order pizza",
        description="Order a pizza, with a word that nobody else has: margherita.",
    )
    embed_pending()
    give(integration, User.objects.get(pk=shop.charlie.user_id).groups.get())
    return Pizzeria(shop, integration, tool)


def mark(pizzeria: Pizzeria) -> None:
    set_requestable(by=None, integration=pizzeria.integration, requestable=True)


def test_marked_tool_is_told_by_name_alone(pizzeria: Pizzeria) -> None:
    mark(pizzeria)

    selection = pizzeria.shop.ask(MESSAGE)

    assert pizzeria.offers() == [OFFER]
    assert (selection.fit, selection.reason) == (
        "nothing_fits",
        "Nothing you can use fits this message.",
    )
    assert "margherita" not in repr(replace(selection, workings=None))


def test_unmarked_tool_changes_neither_answers_nor_statements(pizzeria: Pizzeria) -> None:
    pizzeria.shop.ask(MESSAGE)
    with CaptureQueriesContext(connection) as hidden:
        answer = pizzeria.alone()
    pizzeria.integration.delete()
    pizzeria.shop.ask(MESSAGE)
    with CaptureQueriesContext(connection) as absent:
        without = pizzeria.alone()

    assert answer == without
    assert len(hidden) == len(absent) == 5


def deny(pizzeria: Pizzeria, **about: Any) -> None:
    """Lay down a denying rule in the root space of alice's group."""
    space, _ = Space.objects.get_or_create(group_id=pizzeria.shop.alice.group_id, parent=None)
    Rule.objects.create(space=space, effect=Rule.Effect.DENY, **about)


def become_a_program(pizzeria: Pizzeria) -> None:
    alice = User.objects.get(pk=pizzeria.shop.alice.user_id)
    alice.set_unusable_password()
    alice.save()
    ServiceAccount.objects.create(user=alice)


def change(row: Any, **columns: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**columns)


HIDDEN: dict[str, Callable[[Pizzeria], object]] = {
    "denied as an integration": lambda it: deny(it, integration=it.integration),
    "denied as a tool": lambda it: deny(it, capability=it.tool),
    "denied to alice": lambda it: deny(
        it, integration=it.integration, user_id=it.shop.alice.user_id
    ),
    "disabled": lambda it: change(it.integration, enabled=False),
    "in quarantine": lambda it: change(it.tool, state="quarantined"),
    "blocked for AI": lambda it: change(it.tool, ai_access="blocked"),
    "asked by a program": become_a_program,
    "no longer marked": lambda it: set_requestable(
        by=None, integration=it.integration, requestable=False
    ),
}


def test_what_is_denied_or_cannot_work_is_not_told(pizzeria: Pizzeria) -> None:
    mark(pizzeria)
    told = {}

    for why, hide in HIDDEN.items():
        with transaction.atomic():
            hide(pizzeria)
            told[why] = pizzeria.offers()
            transaction.set_rollback(True)

    assert told == {why: [] for why in HIDDEN}
    assert pizzeria.offers() == [OFFER]


def test_mark_costs_nothing_where_something_fits(pizzeria: Pizzeria) -> None:
    counts = []
    for marked in (False, True):
        set_requestable(by=None, integration=pizzeria.integration, requestable=marked)
        pizzeria.shop.ask("what's on my calendar")
        with CaptureQueriesContext(connection) as statements:
            selection = pizzeria.shop.ask("what's on my calendar")
        counts.append(len(statements))
        assert (selection.fit, selection.help) == ("fits", ())

    assert counts == [1, 1]


def test_told_name_opens_nothing_but_the_request(pizzeria: Pizzeria, client: Client) -> None:
    mark(pizzeria)
    client.force_login(User.objects.get(username="alice"))

    answer = client.post("/api/v1/select", {"message": MESSAGE}, **JSON).json()
    [offer] = [one for one in answer["help"] if one["kind"] == "requestable"]
    opened = [
        (
            client.get(f"/api/v1/capabilities/{name}").status_code,
            client.post("/api/v1/execute", {"name": name, "arguments": {}}, **JSON).status_code,
            client.get("/api/v1/capabilities", {"query": "pizza"}).json()["total"],
        )
        for name in ("pizzeria__order_pizza", "pizzeria__no_such_tool")
    ]

    assert offer["mend_path"] == "/tools/requests/?wish=pizzeria__order_pizza"
    assert opened == [(404, 404, 0)] * 2
