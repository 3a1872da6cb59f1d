"""Advice of a chat model on choosing tools: within its time, its tokens and the caller's rights."""

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from acl.platform.redis_circuit import redis_client
from catalog.models import Capability
from discovery.advice import questions
from discovery.advice.advised import select_advised
from discovery.advice.policies import policy_for, set_policy
from discovery.advice.questions import (
    LONGEST_TEXT,
    MOST_STEPS,
    ORDER,
    PLAN,
    READ_OF_TOOL,
    read_order,
    read_texts,
)
from discovery.chats.model_sender import answer_advice
from discovery.models import AdvicePolicy, ChatModel
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People
from tests.chats.conftest import _allowed as _allowed
from tests.chats.conftest import admin, connect
from tests.chats.conftest import fakes as fakes
from tests.chats.conftest import polite as polite
from tests.chats.fake_models import FakeModel, Raw, Say, Serve
from tests.factories import GroupFactory

pytestmark = pytest.mark.django_db
MESSAGE = "write a polite letter and measure the river"


@pytest.fixture
def fake(people: People, polite: Capability, fakes: Serve, settings: Settings) -> FakeModel:
    settings.PEGBOARD_ADVICE = True
    served = fakes("compatible")
    connect(people, served)
    return served


@pytest.fixture(autouse=True)
def _worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answer each question at once, as the worker does, and begin without answers."""
    redis = redis_client()
    for name in redis.scan_iter("pegboard:advice:*"):
        redis.delete(name)
    monkeypatch.setattr(questions, "send_now", _answer_at_once)
    yield
    for name in redis.scan_iter("pegboard:advice:*"):
        redis.delete(name)


def _answer_at_once(_task: object, digest: str) -> bool:
    answer_advice(digest)
    return True


def advise(people: People, **terms: Any) -> AdvicePolicy:
    return set_policy(by=None, group=people.support, model=ChatModel.objects.get(), **terms)


def selected(people: People, message: str = MESSAGE) -> Selection:
    return select_advised(SelectRequest(message, people.caller))


def names(selection: Selection) -> list[str]:
    return [item.full_name for item in selection.selected]


def test_steps_are_searched_for_and_the_order_is_followed(fake: FakeModel, people: People) -> None:
    advise(people)
    fake.script = [
        Say('Sure:\n```json\n["measure how deep the river is", "write a letter"]\n```'),
        Say("[2, 1]"),
    ]
    plain = select_capabilities(SelectRequest(MESSAGE, people.caller))

    selection = selected(people)

    assert selection.advice is not None
    assert selection.advice.steps == ("measure how deep the river is", "write a letter")
    assert selection.advice.ordered
    assert set(names(plain)) <= {*names(selection)} <= {"letters__polite", "rivers__measure"}
    prompts = [message["messages"][0]["content"] for message in fake.bodies]
    assert prompts == [PLAN, ORDER]
    assert AdvicePolicy.objects.get().used_today > 0


def test_order_changes_places_and_no_scores(fake: FakeModel, people: People) -> None:
    advise(people, plans=False)
    plain = selected_without(people)
    fake.script = [Say(str([2, 1]))]

    selection = selected(people)

    assert names(selection) == names(plain)[::-1]
    assert [item.score for item in selection.selected] == [item.score for item in plain.selected]
    assert "Put forward by the chat model" in selection.selected[0].reasons


def selected_without(people: People) -> Selection:
    selection = select_capabilities(SelectRequest(MESSAGE, people.caller))
    assert len(selection.selected) == 2
    return selection


def test_model_sees_only_what_the_caller_may_use(fake: FakeModel, people: People) -> None:
    advise(people)
    Capability.objects.filter(full_name="letters__polite").update(description="x " * 100)
    fake.script = [Say("[]"), Say("[]")]

    selected(people)

    told = fake.bodies[-1]["messages"][1]["content"]
    usable = Capability.objects.usable_by(people.caller).values_list("full_name", flat=True)
    mentioned = [
        name for name in Capability.objects.values_list("full_name", flat=True) if name in told
    ]
    assert mentioned
    assert set(mentioned) <= set(usable)
    assert "x " * (READ_OF_TOOL // 2 + 1) not in told


def test_equal_question_is_asked_once(fake: FakeModel, people: People) -> None:
    advise(people, orders=False)
    fake.script = [Say('["measure a river", "write a letter"]')]

    answers = [selected(people).advice for _ in range(3)]

    assert len(fake.bodies) == 1
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    "answer", [Raw(500), Raw(401), Raw(200, b"no"), Raw(200, b'{"choices": []}')]
)
def test_model_that_fails_is_done_without_and_left_alone(
    fake: FakeModel, people: People, answer: Raw
) -> None:
    advise(people)
    fake.script = [answer] * 4

    first, second = selected(people), selected(people, MESSAGE + " again")

    assert names(first) == names(selected_without(people))
    for selection in (first, second):
        assert "The chat model gave no advice in time." in selection.degraded
    assert len(fake.bodies) == 1


def test_late_model_costs_no_more_than_its_time(
    fake: FakeModel, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    advise(people, milliseconds=200)
    digests: list[str] = []

    def lose(_task: object, digest: str) -> bool:
        digests.append(digest)
        return True

    monkeypatch.setattr(questions, "send_now", lose)

    began = time.monotonic()
    selections = [selected(people, f"{MESSAGE} {number}") for number in range(5)]

    assert len(digests) == 1  # the others do not wait for it
    assert time.monotonic() - began < 60
    assert all(selection.timings["advice"] < 10_000 for selection in selections)
    assert all(names(selection) for selection in selections)


def test_tokens_of_the_day_end_the_advice(fake: FakeModel, people: People) -> None:
    policy = advise(people, orders=False, daily_tokens=1)
    fake.script = [Say('["measure a river", "write a letter"]')] * 2
    selected(people)

    selection = selected(people, MESSAGE + " again")

    assert "Today's tokens for advice are used up." in selection.degraded
    assert len(fake.bodies) == 1
    AdvicePolicy.objects.filter(pk=policy.pk).update(used_on="2020-01-01")
    assert selected(people, MESSAGE + " once more").advice is not None


def test_nobody_is_asked_where_it_is_off(
    fake: FakeModel, people: People, settings: Settings
) -> None:
    assert selected(people).advice is None  # no policy
    set_policy(by=None, group=GroupFactory.create(), model=ChatModel.objects.get())
    assert selected(people).advice is None  # another group's
    advise(people)
    settings.PEGBOARD_ADVICE = False
    assert selected(people).advice is None
    settings.PEGBOARD_ADVICE = True
    assert selected(people, "hello there!").advice is None  # small talk
    assert not fake.bodies


def test_own_policy_comes_before_everybodys(fake: FakeModel, people: People) -> None:
    everybodys = set_policy(by=None, group=None, model=ChatModel.objects.get())
    assert policy_for(people.caller) == everybodys
    own = advise(people)
    assert policy_for(people.caller) == own


def test_nothing_readable_passes_through_redis(
    fake: FakeModel, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    advise(people, orders=False)
    fake.script = [Say('["measure a river", "write a letter"]')]
    tasks: list[str] = []

    def send(_task: object, digest: str) -> bool:
        tasks.append(digest)
        answer_advice(digest)
        return True

    monkeypatch.setattr(questions, "send_now", send)
    selected(people)

    redis: Any = redis_client()
    stored = [redis.get(name) for name in redis.scan_iter("pegboard:advice:*")]
    assert len(stored) == 2
    assert not any(b"river" in value or b"polite" in value for value in stored)
    assert all("river" not in task for task in tasks)
    answer_advice("no such digest")
    assert len(fake.bodies) == 1


@given(seed=st.integers(0, 2**32))
def test_whatever_a_model_answers_is_read_within_bounds(seed: int) -> None:
    random = Random(seed)
    parts: list[Any] = [3, 0, -1, 21, 2.0, True, None, "a", " b\n c ", "", "x" * 500, [], {"a": 1}]
    value = [random.choice(parts) for _ in range(random.randrange(40))]
    text = (
        random.choice(["", "Here: ", "[[", "]"]) + json.dumps(value) + random.choice(["", "!", "]"])
    )

    steps, order = read_texts(text), read_order(text, 20)

    assert len(steps) <= MOST_STEPS
    assert all(0 < len(step) <= LONGEST_TEXT and step == " ".join(step.split()) for step in steps)
    assert len(order) == len(set(order))
    assert all(0 <= place < 20 for place in order)
    assert read_texts("[" * 100_000) == ()


def test_admins_set_it_by_api_and_page(fake: FakeModel, people: People) -> None:
    client = browser = Client()
    browser.force_login(admin(), "acl.people.sign_in_attempts.PasswordBackend")
    body = {"model": "Fable", "group": "support", "orders": False, "milliseconds": 500}

    made = client.post("/api/v1/advice", body, "application/json")
    nothing = client.post("/api/v1/advice", body | {"plans": False}, "application/json")
    unknown = client.post("/api/v1/advice", body | {"model": "Plum"}, "application/json")
    listed = client.get("/api/v1/advice").json()

    assert made.status_code == 200, made.content
    assert (nothing.status_code, unknown.status_code) == (400, 400)
    assert listed["on"] is True
    assert [(row["group"], row["model"], row["plans"]) for row in listed["policies"]] == [
        ("support", "Fable", True)
    ]
    assert AuditEntry.objects.filter(action="advice.set", by__username="root").count() == 1
    page = browser.get("/playground/models/").content.decode()
    assert "within 500 ms" in page
    assert PLAN.split(".")[0] in page
    form = {"plans_or_orders": 1, "model": ChatModel.objects.get().pk, "plans": "on"}
    terms = {"milliseconds": 900, "daily_tokens": 5}
    assert browser.post("/playground/models/", form | terms).status_code == 302
    assert browser.post("/playground/models/", {**form, **terms, "plans": ""}).status_code == 422
    everybodys = AdvicePolicy.objects.get(group=None)
    assert (everybodys.plans, everybodys.orders, everybodys.milliseconds) == (True, False, 900)
    assert browser.post(f"/playground/models/advice/{everybodys.pk}/remove/").status_code == 302
    assert client.delete("/api/v1/advice?group=support").status_code == 204
    assert client.delete("/api/v1/advice?group=support").status_code == 404
    assert not AdvicePolicy.objects.exists()
