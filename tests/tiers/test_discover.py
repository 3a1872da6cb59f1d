"""POST /api/v1/discover as a chat backend uses it (D4)."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from catalog.models import Capability, Integration, Rule
from discovery.answer.formats.registry import FORMATS
from discovery.answer.tiers import state
from discovery.models import Turn
from tests.access.people import People, client_of
from tests.factories import CapabilityFactory, give, lay_down, take_away
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
    before = state.read_state(people.caller, keys=[], full=[]).key
    rule = lay_down(Rule.Effect.DENY, people.search, Space.objects.get(group=people.support))

    state.categories_at(before, people.caller)

    rule.delete()
    again = state.read_state(people.caller, keys=[], full=[]).key
    assert again != before
    told = [one.category for one in state.categories_at(again, people.caller)]
    assert "search" in told


def test_what_is_taken_away_meanwhile_is_told_nowhere(people: People) -> None:
    shown = [people.send.pk, people.pay.pk]

    found = state.read_state(people.caller, keys=shown, full=shown)

    assert list(found.facts) == [people.send.pk]


def test_required_tools_are_named_only_if_the_caller_may_use_them(people: People) -> None:
    tool = Capability.objects.get(full_name="gmail__send_email")
    named = ["wiki__read_page", "search", "tool:payroll__pay", "payroll__pay", "no_such__tool"]
    Capability.objects.filter(pk=tool.pk).update(required_tools=named)

    facts = state.read_state(people.caller, keys=[tool.pk], full=[]).facts[tool.pk]
    root = Space.objects.get(group=people.support, parent=None)
    lay_down(Rule.Effect.DENY, Capability.objects.get(full_name="wiki__read_page"), root)
    denied = state.read_state(people.caller, keys=[tool.pk], full=[]).facts[tool.pk]

    assert facts.required_tools == ("wiki__read_page", "gmail__search")
    assert denied.required_tools == ("gmail__search",)
