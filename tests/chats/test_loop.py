"""The loop of a message, and the sweeper: called with the person's rights, told, and bounded."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from catalog.models import Capability
from discovery.chats.chats import ChatRefusedError, cancel_message, send_message
from discovery.chats.model_sender import MOST_BYTES, send_request, sweep_chats
from discovery.chats.providers.registry import APIS
from discovery.models import Call, Chat, ChatMessage, ChatUse, ModelRequest, Turn
from marketplace.operate.retention import apply_terms
from tests.access.people import People
from tests.chats.conftest import Bench, connect
from tests.chats.fake_models import KEY, CallTools, Raw, Reply, Say, Serve
from tests.factories import take_away

LETTER = CallTools((("letters__polite", {}),), text="I look at how letters are written.")
PROVIDERS = tuple(APIS)


def requests_of(message: ChatMessage, purpose: str = "answer") -> list[ModelRequest]:
    return list(message.requests.filter(purpose=purpose).order_by("step"))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_calls_tools_and_answers(
    people: People, polite: Capability, fakes: Serve, provider: str
) -> None:
    bench = connect(people, fakes(provider))
    twice = CallTools((("letters__polite", {}), ("letters__polite", {})))
    bench.fake.script = [LETTER, twice, Say("Dear Sir or Madam")]

    message = bench.work(bench.say())

    assert bench.fake.refusals == []
    assert message.state == ChatMessage.State.ANSWERED
    asked = requests_of(message)
    assert [row.text for row in asked] == [LETTER.text, "", "Dear Sir or Madam"]
    assert {(row.tokens_read, row.tokens_written) for row in asked} == {(100, 20)}
    assert Call.objects.filter(state="completed", turn=message.turn).count() == 3
    assert "Begin with a greeting." in json.dumps(bench.fake.bodies[-1])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_chat_goes_on_with_its_earlier_answers(
    people: People, polite: Capability, fakes: Serve, provider: str
) -> None:
    bench = connect(people, fakes(provider))
    bench.fake.script = [LETTER, Say("Dear Sir"), Say("Dear Madam")]
    first = bench.work(bench.say())

    second = send_message(by=people.alice, chat=first.chat, text="to a woman", compare=False)
    bench.work(second)

    assert bench.fake.refusals == []
    assert second.state == ChatMessage.State.ANSWERED
    sent = json.dumps(bench.fake.bodies[-1])
    assert "write a polite letter" in sent
    assert "Dear Sir" in sent
    assert "Begin with a greeting" not in sent


def test_only_offered_tools_are_called_and_the_model_hears_why(bench: Bench) -> None:
    asks: tuple[tuple[str, Any], ...] = (
        ("payroll__pay", {}),
        ("gmail__send_email", {"to": "x"}),
        ("letters__polite", {"unknown": 1}),
    )
    bench.fake.script = [CallTools(asks), Say("I cannot.")]

    message = bench.work(bench.say())

    assert message.state == ChatMessage.State.ANSWERED
    results = bench.fake.bodies[-1]["messages"][-1]["content"]
    assert all(result["is_error"] for result in results[:2])
    assert {r["content"] for r in results[:1]} == {
        "There is no tool of this name among those that you were given."
    }
    assert not Call.objects.exclude(full_name="letters__polite").exists()


def test_a_right_that_is_lost_meanwhile_counts(bench: Bench, polite: Capability) -> None:
    bench.fake.script = [LETTER, Say("Sorry.")]
    message = bench.say()
    take_away(polite.integration, bench.people.support)

    bench.work(message)

    result = bench.fake.bodies[-1]["messages"][-1]["content"][0]
    assert result["is_error"]
    assert "greeting" not in result["content"]
    assert not Call.objects.exists()


def test_a_call_waits_for_its_approval_and_goes_on(
    bench: Bench, polite: Capability, client: Client
) -> None:
    Capability.objects.filter(pk=polite.pk).update(ai_access="propose")
    bench.fake.script = [LETTER, Say("Thank you.")]
    message = bench.work(bench.say())
    waiting = (message.state, Call.objects.get().state, len(bench.fake.bodies))

    Call.objects.update(state="rejected", ended_at=Now())
    bench.work(message)

    assert waiting == ("calling", "waiting_approval", 1)
    assert message.state == ChatMessage.State.ANSWERED
    assert "rejected" in bench.fake.bodies[-1]["messages"][-1]["content"][0]["content"]


def test_work_that_is_done_twice_calls_and_asks_once(bench: Bench) -> None:
    bench.fake.script = [LETTER, Say("Dear Sir")]
    message = bench.say()
    [first] = requests_of(message)

    send_request(first.pk)
    send_request(first.pk)
    ModelRequest.objects.filter(pk=first.pk, calls=[]).delete()
    bench.work(message)
    bench.work(message)

    assert message.state == ChatMessage.State.ANSWERED
    assert (Call.objects.count(), len(bench.fake.bodies)) == (1, 2)


def test_the_guard_has_the_words_until_the_end(bench: Bench, settings: Settings) -> None:
    settings.PEGBOARD_FLOW_GUARD = "ask"
    bench.fake.script = [LETTER, Say("Dear Sir")]
    message = bench.say()
    before = Turn.objects.get()

    bench.work(message)

    after = Turn.objects.get()
    assert before.sealed_words
    assert (after.sealed_words, after.noted) == (None, None)


def test_a_model_that_never_ends_is_stopped(bench: Bench, settings: Settings) -> None:
    settings.PEGBOARD_CHAT_STEPS = 3
    bench.fake.script = [LETTER] * 5

    message = bench.work(bench.say())

    assert (message.state, message.reason) == ("failed", "too_many_steps")
    assert len(bench.fake.bodies) == 3


def test_tokens_of_a_day_are_a_bound_that_deleting_does_not_move(bench: Bench) -> None:
    bench.model.daily_tokens = 200
    bench.model.save()
    bench.fake.script = [LETTER, Say("Dear Sir"), LETTER]
    first = bench.work(bench.say())
    first.chat.delete()

    with pytest.raises(ChatRefusedError, match="token limit"):
        bench.say()

    assert first.state == ChatMessage.State.ANSWERED
    assert ChatUse.objects.get().tokens == 240


def test_a_message_stops_where_the_tokens_of_the_day_end(bench: Bench) -> None:
    bench.model.daily_tokens = 100
    bench.model.save()
    bench.fake.script = [LETTER, Say("Dear Sir")]

    message = bench.work(bench.say())

    assert (message.state, message.reason) == ("failed", "tokens_used_up")


FAILURES: dict[str, Reply] = {
    "key_refused": Raw(401, b'{"error": {"message": "Wrong key sk-canary-4711."}}'),
    "unknown_model": Raw(404, b'{"error": {"message": "no such model"}}'),
    "rate_limited": Raw(429, b'{"error": "slow down"}'),
    "refused": Raw(400, b'{"error": {"message": "prompt is too long"}}'),
    "unavailable": Raw(529, b"<html>overloaded</html>"),
    "answer_too_large": Raw(200, b" " * (MOST_BYTES + 1)),
    "malformed": Raw(200, b'{"role": "assistant", "content": "text"}'),
}


@pytest.mark.parametrize(("reason", "reply"), FAILURES.items())
def test_failures_are_told_without_the_key(bench: Bench, reason: str, reply: Reply) -> None:
    bench.fake.script = [reply]

    message = bench.work(bench.say())

    assert (message.state, message.reason) == ("failed", reason)
    [request] = requests_of(message)
    assert request.body == ""
    assert KEY not in str(ModelRequest.objects.values().get())


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'{"role": "assistant", "content": [], "usage": {"input_tokens": -1}}',
        b'{"role": "assistant", "content": [{"type": "tool_use", "id": "", "name": "x"}]}',
        b'{"role": "assistant", "content": [{"type": "text", "text": "\\u0000"}], "usage": {}}',
        b'{"a":' * 100 + b"1" + b"}" * 100,
    ],
)
def test_an_answer_that_cannot_be_read_ends_the_message(bench: Bench, body: bytes) -> None:
    bench.fake.script = [Raw(200, body)]

    message = bench.work(bench.say())

    assert (message.state, message.reason) == ("failed", "malformed")


def test_arguments_that_are_no_object_are_told_to_the_model(
    people: People, polite: Capability, fakes: Serve
) -> None:
    bench = connect(people, fakes("openai"))
    asks = (("letters__polite", "{"), ("letters__polite", "[1]"))
    bench.fake.script = [CallTools(asks), Say("Sorry.")]

    message = bench.work(bench.say())

    assert (message.state, bench.fake.refusals) == ("answered", [])
    told = [m["content"] for m in bench.fake.bodies[-1]["messages"] if m["role"] == "tool"]
    assert told == ["The arguments are not a JSON object."] * 2


def test_an_address_that_is_no_longer_allowed_is_not_asked(
    bench: Bench, settings: Settings
) -> None:
    message = bench.say()
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = ()

    bench.work(message)

    assert (message.state, message.reason) == ("failed", "endpoint_not_allowed")
    assert bench.fake.bodies == []


def test_a_model_that_is_away_is_said_to_be(bench: Bench) -> None:
    bench.model.address = "http://127.0.0.1:9"
    bench.model.save()

    message = bench.work(bench.say())

    assert (message.state, message.reason) == ("failed", "endpoint_not_reachable")


def test_a_cancelled_message_asks_and_calls_no_more(bench: Bench, polite: Capability) -> None:
    Capability.objects.filter(pk=polite.pk).update(ai_access="propose")
    bench.fake.script = [LETTER, Say("x")]
    waiting, queued = bench.work(bench.say()), bench.say()

    cancelled = [cancel_message(by=bench.people.alice, message=m) for m in (waiting, queued)]
    again = cancel_message(by=bench.people.alice, message=waiting)
    bench.work(waiting)
    bench.work(queued)

    assert (cancelled, again) == ([True, True], False)
    assert Call.objects.get().state == Call.State.CANCELLED
    assert {waiting.state, queued.state} == {"cancelled"}
    assert len(bench.fake.bodies) == 1


def test_a_comparison_is_not_sent_for_a_cancelled_message(bench: Bench) -> None:
    message = bench.say(compare=True)
    cancel_message(by=bench.people.alice, message=message)

    bench.work(message)

    assert bench.fake.bodies == []
    assert set(message.requests.values_list("reason", flat=True)) == {"cancelled"}


def test_who_left_the_group_begins_another_chat(bench: Bench) -> None:
    message = bench.work(bench.say())
    bench.people.alice.groups.clear()
    bench.people.alice.is_staff = True  # who may use every model

    with pytest.raises(ChatRefusedError, match="left the group"):
        send_message(by=bench.people.alice, chat=message.chat, text="and?", compare=False)


def test_one_message_at_a_time(bench: Bench) -> None:
    message = bench.say()

    with pytest.raises(ChatRefusedError, match="Wait for the answer"):
        send_message(by=bench.people.alice, chat=message.chat, text="and?", compare=False)


def test_who_loses_the_model_hears_so(bench: Bench) -> None:
    bench.fake.script = [LETTER, Say("x")]
    message = bench.say()
    bench.model.groups.clear()

    bench.work(message)

    assert (message.state, message.reason) == ("failed", "no_model")
    with pytest.raises(ChatRefusedError, match="may not use the model"):
        bench.say()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_all_tools_are_sent_once_beside_and_not_called(
    people: People, polite: Capability, fakes: Serve, provider: str
) -> None:
    bench = connect(people, fakes(provider))
    bench.fake.script = [Say("Dear Sir"), CallTools((("rivers__measure", {}),))]

    message = bench.work(bench.say(compare=True))

    [compared] = requests_of(message, "comparison")
    [answer] = requests_of(message)
    assert bench.fake.refusals == []
    assert compared.state == "answered"
    assert [call["name"] for call in compared.calls] == ["rivers__measure"]
    assert compared.tools > answer.tools
    assert compared.tools_tokens > answer.tools_tokens
    assert not Call.objects.exists()


def test_more_tools_than_the_model_takes_are_not_sent(bench: Bench, settings: Settings) -> None:
    settings.PEGBOARD_CONTEXT_WINDOW = 10

    message = bench.work(bench.say(compare=True))

    [compared] = requests_of(message, "comparison")
    assert (compared.state, compared.reason) == ("failed", "too_many_tools")
    assert compared.tools_tokens > 10
    assert len(bench.fake.bodies) == 1


LONG_AGO = Now() - timedelta(days=40)


def test_a_request_whose_worker_died_is_sent_once_more(bench: Bench) -> None:
    message = bench.say()
    requests = ModelRequest.objects.all()
    requests.update(state="running", attempts=1, sent_at=LONG_AGO)

    sweep_chats()
    again = requests.get().state
    requests.update(state="running", attempts=2, sent_at=LONG_AGO)
    sweep_chats()
    bench.work(message)

    assert again == ModelRequest.State.QUEUED
    assert (message.state, message.reason) == ("failed", "lost")


@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
def test_chats_are_deleted_that_nobody_used_for_long(bench: Bench, used: bool) -> None:
    bench.fake.script = [Say("Dear Sir")]
    bench.work(bench.say())
    Chat.objects.update(created_at=LONG_AGO)
    if not used:
        ChatMessage.objects.update(created_at=LONG_AGO)

    apply_terms()

    assert Chat.objects.exists() == used
    assert not Call.objects.exists()
