"""Guarantees of the selector, on the starter collection as installed."""

import io
import json

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from guardian.shortcuts import assign_perm
from pytest_django import Settings

from catalog.models import Capability, Integration
from discovery.models import Turn
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import select_for_turn
from tests.select.conftest import Shop, names


def test_fitting_tool_comes_with_a_true_reason(shop: Shop) -> None:
    selection = shop.ask("send an email to the team about the release")

    best = next(item for item in selection.selected if item.full_name == "gmail__send_email")
    assert any("Matches" in reason for reason in best.reasons)
    assert 0 < best.score <= 1


@pytest.mark.parametrize("message", ["what is 2+2", "2+2", "20% of 80", "what's 25 * 14"])
def test_sum_gets_the_calculator(shop: Shop, message: str) -> None:
    assert names(shop.ask(message))[0] == "calculator"


@pytest.mark.parametrize("message", ["note to self: call mum", "remember: wifi is hunter2"])
def test_note_is_remembered_whatever_it_says(shop: Shop, message: str) -> None:
    assert "memory__store" in names(shop.ask(message))[:2]


def test_literal_name_is_always_first(shop: Shop) -> None:
    selection = shop.ask("the weather is nice, but call cron__list please")

    assert names(selection)[0] == "cron__list"
    assert "Named in the message" in selection.selected[0].reasons


@pytest.mark.parametrize("message", ["hello", "thanks!", "How are you?", "ok great"])
def test_small_talk_gets_only_what_is_pinned(shop: Shop, message: str) -> None:
    assert names(shop.ask(message)) == ["tool_discovery__find"]


def test_one_statement_selects(shop: Shop) -> None:
    shop.ask("warm up the connection")

    with CaptureQueriesContext(connection) as statements:
        shop.ask("what is the weather in Lisbon and what is on my calendar?")
    assert len(statements) == 1


def test_turn_costs_one_statement_more(shop: Shop) -> None:
    shop.ask("warm up the connection")

    with CaptureQueriesContext(connection) as statements:
        selection = select_for_turn(SelectRequest("what is the weather in Lisbon?", shop.alice))

    assert len(statements) == 2
    turn = Turn.objects.get(pk=str(selection.turn_id))
    assert [row[0] for row in turn.selected] == [item.identifier for item in selection.selected]


def test_words_of_a_message_are_not_kept_by_default(shop: Shop) -> None:
    selection = select_for_turn(SelectRequest("remember my password is swordfish", shop.alice))

    assert Turn.objects.get(pk=str(selection.turn_id)).message == ""


def test_caller_without_rights_gets_nothing_and_learns_nothing(shop: Shop) -> None:
    selection = select_capabilities(
        SelectRequest("send an email with gmail__send_email", shop.charlie)
    )

    assert selection.selected == ()
    assert (selection.excluded_count, selection.tokens_all, selection.ranking) == (0, 0, ())


def test_the_few_that_a_caller_may_use_compete_alone(shop: Shop) -> None:
    assign_perm("catalog.use_integration", _user(shop), Integration.objects.get(slug="cron"))

    selection = select_capabilities(SelectRequest("email the team every friday", shop.charlie))

    assert set(names(selection)) <= {"cron__create", "cron__list", "cron__delete"}
    assert "cron__create" in names(selection)


def test_excluded_counts_only_what_the_caller_may_use(shop: Shop) -> None:
    assign_perm("catalog.use_integration", _user(shop), Integration.objects.get(slug="cron"))

    selection = select_capabilities(SelectRequest("hello", shop.charlie))

    own = Capability.objects.filter(integration__slug="cron").count()
    assert selection.excluded_count + len(selection.selected) == own


def test_kind_narrows_what_competes(shop: Shop) -> None:
    selection = shop.ask("send a message to the team", kind="channel")

    assert selection.selected
    assert {item.kind for item in selection.selected} == {"channel"}


def test_unavailable_is_left_out_unless_asked_for(shop: Shop) -> None:
    Capability.objects.filter(full_name="weather").update(available=False)

    assert "weather" not in names(shop.ask("what is the weather in Lisbon?"))
    shown = shop.ask("what is the weather in Lisbon?", only_available=False)
    [weather] = [item for item in shown.selected if item.full_name == "weather"]
    assert weather.readiness.state == "needs_admin"


def test_what_is_not_connected_is_left_out_and_not_counted(shop: Shop) -> None:
    message = "call gmail__send_email to pay the parking fine"
    before = shop.ask(message)
    gmail = Integration.objects.filter(slug="gmail")
    tools = Capability.objects.filter(integration__slug="gmail").count()

    gmail.update(connection="disconnected")
    with CaptureQueriesContext(connection) as statements:
        without = shop.ask(message)  # nothing fits then, so four more look for help
    looking = select_capabilities(SelectRequest(message, shop.alice, only_connected=False))

    assert names(before)[0] == "gmail__send_email"
    assert not any(name.startswith("gmail__") for name in names(without))
    assert len(statements) == 5
    counted = [len(each.selected) + each.excluded_count for each in (before, without, looking)]
    assert counted == [counted[0], counted[0] - tools, counted[0]]
    assert "gmail__send_email" in names(looking)[-tools:]  # what cannot run comes last


def test_descriptions_are_available_to_applications_that_carry_out_calls(shop: Shop) -> None:
    """A newcomer's chat backend does; whoever does not gets what Pegboard runs itself."""
    message = "search my mail, and review the code that I changed"

    found = shop.ask(message)
    here = shop.ask(message, client_executes=False)
    all_of_it = shop.ask(message, client_executes=False, only_available=False)

    assert {"gmail__search_emails", "code-review"} <= {*names(found)}
    assert {item.readiness.state for item in found.selected} >= {"described_only", "ready"}
    assert "code-review" in names(here)
    assert {item.readiness.state for item in here.selected} == {"ready"}
    assert names(all_of_it) == names(found)
    counted = [len(each.selected) + each.excluded_count for each in (found, here)]
    assert counted[0] > counted[1] > 0


def test_blocked_is_never_selected(shop: Shop) -> None:
    Capability.objects.filter(full_name="weather").update(ai_access="blocked")

    assert "weather" not in names(shop.ask("call weather", only_available=False))


def test_proposed_is_marked_as_asking_first(shop: Shop) -> None:
    Capability.objects.filter(full_name="weather").update(ai_access="propose")

    selection = shop.ask("what is the weather in Lisbon?")
    weather = next(item for item in selection.selected if item.full_name == "weather")
    assert weather.asks_first


@pytest.mark.parametrize("most", [1, 3, 10])
def test_answer_keeps_to_its_length(shop: Shop, most: int) -> None:
    message = "search my mail, list tasks, check the weather and read the news"

    assert len(shop.ask(message, max_tools=most).selected) <= most


def test_whoever_asks_gets_as_many_as_the_setting_says(shop: Shop, settings: Settings) -> None:
    settings.PEGBOARD_MAX_TOOLS = 2
    message = "send an email, list my tasks and tell me the weather"
    told = io.StringIO()

    selection = select_capabilities(SelectRequest(message, shop.alice))
    call_command("select", message, "--user", "alice", "--json", stdout=told)

    assert len(selection.selected) == 2
    assert [one["full_name"] for one in json.loads(told.getvalue())["selected"]] == names(selection)


def test_any_admin_pinned_tool_is_in_every_answer(shop: Shop) -> None:
    Capability.objects.filter(full_name="echo__echo").update(pinned=True)

    assert {"echo__echo", "tool_discovery__find"} == set(names(shop.ask("hello")))


def test_core_tools_cannot_fill_the_answer(shop: Shop) -> None:
    Capability.objects.exclude(full_name="weather").update(core=True)

    assert "weather" in names(shop.ask("what is the weather in Lisbon?", max_tools=5))


def test_same_definition_elsewhere_is_an_alternative(shop: Shop) -> None:
    weather = Capability.objects.get(full_name="weather")
    _copy(weather, "other-weather")

    selection = shop.ask("what is the weather in Lisbon?")
    found = [item for item in selection.selected if item.display_name == weather.display_name]
    assert len(found) == 1
    assert {found[0].full_name, *found[0].alternatives} == {"weather", "other-weather"}


def test_answer_counts_the_tokens_it_saves(shop: Shop) -> None:
    selection = shop.ask("what is the weather in Lisbon?")

    assert 0 < selection.tokens_selected < selection.tokens_all


def test_same_question_gets_the_same_answer(shop: Shop) -> None:
    first, second = (shop.ask("book a meeting with Ana on monday") for _ in range(2))

    assert first.selected == second.selected


@pytest.mark.parametrize(
    "message",
    ["", " ", "\x00", "🦄" * 50, "a" * 8000, "__", "'; drop table --", "%s %(user)s {}", "\ud800"],
)
def test_odd_messages_are_answered(shop: Shop, message: str) -> None:
    assert "tool_discovery__find" in names(shop.ask(message))


def _user(shop: Shop) -> object:
    from django.contrib.auth.models import User

    return User.objects.get(pk=shop.charlie.user_id)


def _copy(capability: Capability, name: str) -> None:
    vector, terms = capability.embeddings.get(), capability.lexical.terms
    capability.pk = None
    capability.identifier, capability.full_name = f"tool:{name}", name
    capability.integration = Integration.objects.create(slug=name, kind="builtin", title=name)
    capability.save()
    from catalog.models import Embedding, IntegrationGroupPermission, LexicalVector

    Embedding.objects.create(
        capability=capability,
        model=vector.model,
        vector=vector.vector,
        text_hash="x",
        vector_hash="x",
    )
    LexicalVector.objects.create(capability=capability, terms=terms)
    grant = IntegrationGroupPermission.objects.first()
    assert grant is not None
    grant.pk, grant.content_object = None, capability.integration
    grant.save()
