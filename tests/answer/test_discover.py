"""Discovery and injection as a chat backend uses them (D4, D5), within rights."""

import json
import statistics
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration, Rule
from catalog.token_counter import token_counter
from discovery.answer import modes, tiers
from discovery.answer.formats.registry import FORMATS, write_tools
from discovery.answer.injection import Injection, inject_everything
from discovery.answer.tiers import TierOptions, categories_at, read_state
from discovery.models import Turn
from discovery.select.selection import SelectRequest
from discovery.turns.discover import discover
from marketplace.offers.kinds import starter
from tests.access.people import People, client_of
from tests.access.random_worlds import GROUPS, USERS, random_world
from tests.access.worlds import store
from tests.examples import EXAMPLES
from tests.factories import CapabilityFactory, give, lay_down, take_away
from tests.oracle import World
from tests.select.conftest import Shop
from tests.select.conftest import shop as shop
from tests.visible_text.schemas import GOOD

URL = "/api/v1/discover"
MAIL = {"message": "send an email with gmail__send_email", "user": "alice"}


def post(client: Client, **body: Any) -> dict[str, Any]:
    response = client.post(URL, {**MAIL, **body}, content_type="application/json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


@pytest.fixture
def client(people: People) -> Client:
    Capability.objects.filter(pk=people.send.pk).update(
        input_schema=GOOD, required_secrets=["MAIL_KEY"], examples=["mail the team"]
    )
    return client_of(people.support)


def test_three_tiers_come_as_data_and_as_text(client: Client) -> None:
    answer = post(client, format="openai")

    assert answer["tier0"]["text"].splitlines()[1:-1] == [
        "- communication: gmail__send_email (1)",
        "- other: wiki__read_page (1)",
        "- search: gmail__search (1)",
    ]
    assert [one["count"] for one in answer["tier0"]["categories"]] == [1, 1, 1]
    line = answer["tier1"]["text"].splitlines()[1]
    assert line.startswith("1. gmail__send_email (tool). Send an email to one")
    assert line.endswith("Params: to, urgency, when")
    assert answer["tier1"]["capabilities"][0]["shown"]
    assert "Input schema: {" in answer["tier2"]["text"]
    assert "Required secrets: MAIL_KEY\nExamples:\n- mail the team" in answer["tier2"]["text"]
    assert answer["tier2"]["capabilities"][0]["schema_level"] == "full_schema"
    texts = [answer[tier]["text"] for tier in ("tier0", "tier1", "tier2")]
    assert answer["context"] == "\n\n".join(texts)
    assert answer["tokens"]["total"] <= sum(answer[f"tier{n}"]["budget"] for n in range(3))
    names = [tool["function"]["name"] for tool in answer["tools"]]
    found = [one["full_name"] for one in answer["tier1"]["capabilities"]]
    assert names == sorted([*found, "discover_capabilities"])
    assert answer["mode"]["mode"] == "direct"
    assert Turn.objects.filter(pk=answer["turn_id"]).exists()


def test_budgets_and_places_are_the_requests(client: Client) -> None:
    answer = post(client, tier0_tokens=40, tier1_tokens=0, tier2_top=1, relevance=0, tier1_top=2)

    assert answer["tier0"]["budget"] == 40
    assert answer["tier0"]["tokens"] <= 40
    assert answer["tier1"]["text"] == ""
    assert not any(one["shown"] for one in answer["tier1"]["capabilities"])
    assert len(answer["tier1"]["capabilities"]) == 2
    assert len(answer["tier2"]["capabilities"]) == 1
    small = post(client, context_window=2_000)
    assert sum(small[f"tier{n}"]["budget"] for n in range(3)) <= 400
    assert small["tokens"]["total"] <= 400


@pytest.mark.parametrize(
    ("field", "value"),
    [("tier0_tokens", 20_001), ("tier1_top", -1), ("relevance", 2), ("defer_loading", True)],
)
def test_what_is_out_of_bounds_is_refused_by_name(client: Client, field: str, value: Any) -> None:
    body = {**MAIL, field: value, "format": "openai"}

    response = client.post(URL, body, content_type="application/json")

    assert (response.status_code, response.json()["field"]) == (400, field)


def test_small_talk_is_told_the_categories_only(client: Client) -> None:
    answer = post(client, message="thanks, have a nice day", relevance=0.3)

    assert answer["tier0"]["text"]
    assert (answer["tier1"]["text"], answer["tier2"]["text"]) == ("", "")


def test_search_that_defers_refers_to_what_it_declares(client: Client) -> None:
    answer = post(client, format="anthropic", defer_loading=True)

    declared = {tool["name"] for tool in answer["tools"] if tool.get("defer_loading")}
    assert answer["search_result"][0] == {
        "type": "tool_reference", "tool_name": "gmail__send_email",
    }  # fmt: skip
    assert {block["tool_name"] for block in answer["search_result"]} == declared


@pytest.mark.parametrize("provider", FORMATS)
def test_same_set_is_written_alike_whatever_the_message(client: Client, provider: str) -> None:
    wanted = {"format": provider, "relevance": 0, "tier1_top": 3}
    first = client.post(URL, {**MAIL, **wanted, "message": "read a page, gmail__search"},
                        content_type="application/json")  # fmt: skip
    second = client.post(URL, {**MAIL, **wanted, "message": "gmail__search, gmail__send_email"},
                         content_type="application/json")  # fmt: skip

    one, other = first.json(), second.json()
    if {each["id"] for each in one["tier1"]["capabilities"]} == {
        each["id"] for each in other["tier1"]["capabilities"]
    }:
        assert one["tools"] == other["tools"]
    assert one["tier0"] == other["tier0"]


def test_summary_is_read_again_only_after_a_change(people: People, client: Client) -> None:
    def statements(user: str = "alice") -> int:
        with CaptureQueriesContext(connection) as asked:
            post(client, user=user)
        return len(asked)

    post(client)
    kept = statements()

    assert kept == 5  # key, caller, selection, turn, state
    assert statements("bob") == kept + 1  # each has a version of their own
    assert statements("bob") == kept
    CapabilityFactory.create(integration=people.gmail, action="draft")
    assert statements() > kept
    assert statements() == kept


def summary(client: Client) -> str:
    text: str = post(client)["tier0"]["text"]
    return text


def test_summary_follows_rights_and_the_catalogue(people: People, client: Client) -> None:
    root = Space.objects.get(group=people.support, parent=None)
    assert "gmail__search" in summary(client)

    rule = lay_down(Rule.Effect.DENY, people.search, root)
    assert "gmail__search" not in summary(client)
    rule.delete()
    assert "gmail__search" in summary(client)
    take_away(people.gmail, people.support)
    assert "gmail" not in summary(client)
    give(people.gmail, people.support)
    Capability.objects.filter(pk=people.search.pk).update(category="finding")
    assert "- finding: gmail__search (1)" in summary(client)
    Integration.objects.filter(pk=people.gmail.pk).update(connection="disconnected")
    assert "gmail" not in summary(client)


def test_right_that_goes_while_it_is_read_is_kept_under_its_own_key(people: People) -> None:
    before = tiers.read_state(people.caller, keys=[], full=[]).key
    rule = lay_down(Rule.Effect.DENY, people.search, Space.objects.get(group=people.support))

    tiers.categories_at(before, people.caller)

    rule.delete()
    again = tiers.read_state(people.caller, keys=[], full=[]).key
    assert again != before
    told = [one.category for one in tiers.categories_at(again, people.caller)]
    assert "search" in told


def test_what_is_taken_away_meanwhile_is_told_nowhere(people: People) -> None:
    shown = [people.send.pk, people.pay.pk]

    found = tiers.read_state(people.caller, keys=shown, full=shown)

    assert list(found.facts) == [people.send.pk]


def test_required_tools_are_named_only_if_the_caller_may_use_them(people: People) -> None:
    tool = Capability.objects.get(full_name="gmail__send_email")
    named = ["wiki__read_page", "search", "tool:payroll__pay", "payroll__pay", "no_such__tool"]
    Capability.objects.filter(pk=tool.pk).update(required_tools=named)

    facts = tiers.read_state(people.caller, keys=[tool.pk], full=[]).facts[tool.pk]
    root = Space.objects.get(group=people.support, parent=None)
    lay_down(Rule.Effect.DENY, Capability.objects.get(full_name="wiki__read_page"), root)
    denied = tiers.read_state(people.caller, keys=[tool.pk], full=[]).facts[tool.pk]

    assert facts.required_tools == ("wiki__read_page", "gmail__search")
    assert denied.required_tools == ("gmail__search",)


@pytest.mark.django_db
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_categories_and_everything_are_what_one_may_use(seed: int) -> None:
    with transaction.atomic():
        world = random_world(Random(seed))
        store(world)
        for user in USERS:
            for group in GROUPS:
                check(world, Caller(user, group))
        transaction.set_rollback(True)


def check(world: World, caller: Caller) -> None:
    usable = world.usable(caller)
    names = {row.pk: row.full_name for row in Capability.objects.filter(pk__in=usable)}

    categories = categories_at(read_state(caller, keys=[], full=[]).key, caller)
    tools = modes.read(caller)

    assert sum(one.count for one in categories) == len(usable)
    assert {name for one in categories for name in one.names} <= set(names.values())
    assert {tool.name: tool.asks_first for tool in tools} == {
        names[pk]: effect == "propose" for pk, effect in usable.items()
    }


MESSAGES = starter.FOLDER / "labelled" / "queries.jsonl"


def test_tiers_stay_within_their_tokens(shop: Shop) -> None:
    lines = MESSAGES.read_text().splitlines()[::9]
    options = TierOptions.of_the_deployment()
    told = [
        discover(SelectRequest(json.loads(line)["query"], shop.alice), options=options)
        for line in lines
    ]

    totals = [token_counter().count(one.context) for one in told]
    assert statistics.median(totals) <= 1_850
    assert max(totals) <= 3_000
    assert all(one.summary.text == told[0].summary.text for one in told)
    assert token_counter().count(told[0].summary.text) > 100
    assert any(detail.content_lines for one in told for detail in one.details.shown)
    nobody = discover(SelectRequest("send an email", shop.charlie), options=options)
    assert (nobody.context, nobody.found) == ("", [])


OWN = ["gmail__search", "gmail__send_email", "wiki__read_page"]
EXPLORING = ["browse_category", "execute_tool", "get_tool", "list_categories", "search_tools"]


def names(injection: Injection) -> list[str]:
    return [tool.name for tool in injection.tools]


def cost(injection: Injection, provider: str) -> int:
    written = json.dumps(write_tools(injection.tools, provider), ensure_ascii=False)
    return token_counter().count(written) + token_counter().count(injection.prompt)


def test_small_catalogue_is_given_whole(
    people: People, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    lay_down(Rule.Effect.PROPOSE, people.send, Space.objects.get(group=people.support))

    with django_assert_num_queries(2):
        injection = inject_everything(caller=people.caller, provider="openai")

    assert (injection.choice.mode, names(injection)) == ("direct", OWN)
    assert "wait for a person" in injection.prompt
    assert "gmail__send_email." in injection.prompt
    assert injection.tokens == cost(injection, "openai") <= injection.choice.budget


def test_tools_of_a_server_that_is_not_connected_are_left_out(people: People) -> None:
    people.gmail.connection = Integration.Connection.DISCONNECTED
    people.gmail.save()

    for mode in ("direct", "compact_direct"):
        injection = inject_everything(caller=people.caller, provider="openai", forced=mode)

        assert "gmail" not in injection.prompt + " ".join(names(injection))
        assert "wiki__read_page" in injection.prompt + " ".join(names(injection))


def test_names_are_given_where_definitions_do_not_fit(people: People) -> None:
    injection = inject_everything(
        caller=people.caller, provider="openai", forced="compact_direct", context_window=1_000
    )

    assert names(injection) == ["get_tool", "execute_tool"]
    lines = [line for line in injection.prompt.splitlines() if line.startswith("- ")]
    assert [line.split(":")[0] for line in lines] == [f"- {name}" for name in OWN]
    assert all(token_counter().count(line) <= 30 for line in lines)


def test_means_to_look_are_given_where_nothing_fits(people: People) -> None:
    for number in range(40):
        CapabilityFactory.create(integration=people.gmail, description=f"{number} " * 200)

    injection = inject_everything(caller=people.caller, provider="openai", context_window=5_000)

    assert (injection.choice.mode, sorted(names(injection))) == ("discovery", EXPLORING)
    assert "43 tools" in injection.prompt
    assert "gmail" not in injection.prompt


def test_what_is_written_fits_also_where_the_estimate_was_too_low(people: People) -> None:
    """A provider's format costs more than the stored definition."""
    CapabilityFactory.create(integration=people.gmail, description="word " * 200)

    injection = inject_everything(
        caller=people.caller, provider="openai", context_window=1_000, measured=(4, 1)
    )

    assert injection.choice.mode == "discovery"
    assert "As it is written" in injection.choice.reason


@pytest.mark.parametrize("forced", ["direct", "compact_direct", "discovery"])
def test_everything_means_all_that_the_caller_may_use(people: People, forced: str) -> None:
    def told(injection: Injection) -> tuple[object, str]:
        return write_tools(injection.tools, "mcp"), injection.prompt

    before = told(inject_everything(caller=people.caller, provider="mcp", forced=forced))

    CapabilityFactory.create(integration=people.wiki, action="hidden")
    CapabilityFactory.create(integration=people.gmail, ai_access="blocked")
    CapabilityFactory.create(integration=people.gmail, available=False)

    assert told(inject_everything(caller=people.caller, provider="mcp", forced=forced)) == before
    stranger = inject_everything(caller=people.stranger, provider="mcp", forced=forced)
    assert "gmail" not in str(told(stranger))


def test_kind_narrows_everything(people: People) -> None:
    CapabilityFactory.create(integration=people.gmail, action="guide", kind="skill")

    injection = inject_everything(caller=people.caller, provider="none", kind="skill")

    assert names(injection) == ["gmail__guide"]
