"""Injection of everything usable, in the mode that fits the window (D5)."""

import json

import pytest
from pytest_django import DjangoAssertNumQueries

from acl.models import Space
from catalog.models import Integration, Rule
from catalog.token_counter import token_counter
from discovery.answer.formats.registry import write_tools
from discovery.answer.injection import Injection, inject_everything
from tests.access.people import People
from tests.factories import CapabilityFactory, lay_down

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
