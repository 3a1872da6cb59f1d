"""Pages of chats: begun, gone on, cancelled and deleted by their owner, and by nobody else."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import Capability
from discovery.chats.model_sender import send_request
from discovery.models import Call, Chat, ChatMessage, ChatModel, ModelRequest
from discovery.prices.model import set_price
from tests.access.people import People
from tests.chats.conftest import Bench, admin, connect
from tests.chats.fake_models import KEY, MODEL, CallTools, Raw, Say, Serve
from tests.sessions import session_of

LETTER = CallTools((("letters__polite", {}),))
HTMX = {"HX-Request": "true"}


def begin(bench: Bench, client: Client, **fields: str) -> Chat:
    form = {"model": bench.model.pk, "message": "write a polite letter", **fields}
    answer = client.post("/playground/chat/", form)
    assert answer.status_code == 302, answer.content.decode()
    return Chat.objects.get()


def work(client: Client, chat: Chat) -> str:
    """Send what is queued, and press Continue, until the message has ended."""
    for _ in range(10):
        for pk in ModelRequest.objects.filter(state="queued").values_list("pk", flat=True):
            send_request(pk)
        client.post(f"/playground/chat/{chat.pk}/go-on/")
    return client.get(f"/playground/chat/{chat.pk}/").content.decode()


def plain(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_a_chat_shows_calls_answer_and_figures_against_all_tools(bench: Bench) -> None:
    set_price(by=None, pattern=MODEL, input_price=Decimal(10), output_price=Decimal(50))
    rivers = CallTools((("rivers__measure", {}),))
    bench.fake.script = [LETTER, rivers, Say("Dear Sir or Madam")]
    client = session_of(bench.people.alice)
    chat = begin(bench, client, compare="on")

    waiting = client.get(f"/playground/chat/{chat.pk}/").content.decode()
    shown = work(client, chat)

    assert "The model is being asked…" in waiting
    assert "Continue" in waiting
    assert "every 1s" in waiting
    assert "every 1s" not in shown
    text = plain(shown)
    assert "Dear Sir or Madam" in text
    assert "First choice letters__polite rivers__measure" in text
    assert "2 requests, 200 tokens read, 40 written. Cost: $0.004" in text
    assert "All tools were sent once for comparison, without any calls." in text
    assert Call.objects.get().actor == bench.people.alice
    assert bench.fake.refusals == []


def test_a_look_that_finds_nothing_new_changes_nothing(bench: Bench) -> None:
    client = session_of(bench.people.alice)
    chat = begin(bench, client)
    page = client.get(f"/playground/chat/{chat.pk}/").content.decode()
    [seen] = re.findall(r'name="seen" value="(\w+)"', page)
    address = f"/playground/chat/{chat.pk}/go-on/"

    same = client.post(address, {"seen": seen}, headers=HTMX)
    send_request(ModelRequest.objects.get().pk)
    other = client.post(address, {"seen": seen}, headers=HTMX)

    assert (same.status_code, other.status_code) == (204, 200)
    assert "Done." in other.content.decode()
    assert "<html" not in other.content.decode()


def test_a_call_that_waits_has_its_link_and_a_message_its_cancel_button(
    bench: Bench, polite: Capability
) -> None:
    Capability.objects.filter(pk=polite.pk).update(ai_access="propose")
    bench.fake.script = [LETTER]
    client = session_of(bench.people.alice)
    chat = begin(bench, client)

    shown = work(client, chat)
    client.post(f"/playground/chat/{chat.pk}/cancel/")
    after = client.get(f"/playground/chat/{chat.pk}/").content.decode()

    assert f"/approvals/{Call.objects.get().pk}/" in shown
    assert "A call waits for approval." in shown
    assert "You cancelled this message." in after
    assert Call.objects.get().state == Call.State.CANCELLED


def test_chats_of_others_do_not_exist(bench: Bench) -> None:
    alice, root = session_of(bench.people.alice), admin()
    chat = begin(bench, alice)

    for person in (bench.people.bob, bench.people.charlie, root):
        client = session_of(person)
        address = f"/playground/chat/{chat.pk}/"
        answers = [client.get(address)]
        answers += [client.post(f"{address}{end}") for end in ("", "go-on/", "cancel/", "delete/")]
        assert {answer.status_code for answer in answers} == {404}
        assert "polite letter" not in client.get("/playground/chat/").content.decode()

    assert Chat.objects.exists()
    assert ChatMessage.objects.get().state == ChatMessage.State.ASKING


def test_the_owner_deletes_a_chat_and_its_calls_stay(bench: Bench) -> None:
    bench.fake.script = [LETTER]
    client = session_of(bench.people.alice)
    chat = begin(bench, client)
    work(client, chat)

    answer = client.post(f"/playground/chat/{chat.pk}/delete/", follow=True)

    assert "The chat was deleted." in answer.content.decode()
    assert (Chat.objects.count(), Call.objects.count()) == (0, 1)


def test_what_a_model_says_is_text(bench: Bench) -> None:
    evil = '<script>alert(1)</script> <img src="https://evil.example/x"> \u202egnp.exe [x](js:y)'
    asks = CallTools((("<b>letters</b>", {"<i>": "</pre><script>"}),), text=evil)
    bench.fake.script = [asks, Raw(400, b'{"error": {"message": "<script>no</script>"}}')]
    client = session_of(bench.people.alice)

    shown = work(client, begin(bench, client))

    assert "<script>alert" not in shown
    assert "<script>no" not in shown
    assert '<img src="https' not in shown
    assert "<b>letters" not in shown
    assert "\u202e" not in shown
    assert "The provider refused the request." in shown


def test_without_a_model_the_page_says_how_to_connect_one(people: People) -> None:
    pages = {
        person.username: session_of(person).get("/playground/chat/").content.decode()
        for person in (people.alice, admin())
    }

    assert "An admin can connect a model" in pages["alice"]
    assert "/playground/models/" not in pages["alice"]
    assert "Connect a model" in pages["root"]
    assert "/playground/models/" in pages["root"]
    assert "/playground/chat/" in session_of(people.alice).get("/?message=x").content.decode()


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"message": " "}, 422, "This field is required."),
        ({"message": "x" * 10_001}, 422, "10"),
        ({"model": "999"}, 422, "Choose a model."),
        ({"model": "x"}, 422, "Choose a model."),
    ],
)
def test_what_cannot_be_sent_is_said_beside_the_form(
    bench: Bench, fields: dict[str, str], status: int, words: str
) -> None:
    form = {"model": str(bench.model.pk), "message": "hello", **fields}

    answer = session_of(bench.people.alice).post("/playground/chat/", form)

    assert answer.status_code == status
    assert words in answer.content.decode()
    assert not Chat.objects.exists()


def test_two_messages_and_five_take_the_same_statements(bench: Bench) -> None:
    client = session_of(bench.people.alice)
    chat = begin(bench, client)

    def count() -> int:
        with CaptureQueriesContext(connection) as seen:
            client.get(f"/playground/chat/{chat.pk}/")
        return len(seen)

    work(client, chat)
    client.post(f"/playground/chat/{chat.pk}/", {"message": "and?"})
    work(client, chat)
    two = count()
    for _ in range(3):
        client.post(f"/playground/chat/{chat.pk}/", {"message": "and?"})
        work(client, chat)

    assert (count(), chat.messages.count()) == (two, 5)


def saved(client: Client, **fields: object) -> Any:
    usual = {"name": "Fable", "provider": "openai", "model_id": MODEL, "key": KEY,
             "daily_tokens": 1000}  # fmt: skip
    return client.post("/playground/models/", {**usual, **fields})


def test_admins_set_models_and_nobody_reads_a_key(people: People, fakes: Serve) -> None:
    client = session_of(admin())

    answers = [
        saved(client, groups=[people.support.pk]),
        client.get("/playground/models/"),
        saved(client, key="", address="http://169.254.169.254/"),
        saved(client, key="bad key"),
    ]

    assert [answer.status_code for answer in answers] == [302, 200, 422, 422]
    pages = "".join(answer.content.decode() for answer in answers[1:])
    assert KEY not in pages
    assert "This address is not allowed." in pages
    model = ChatModel.objects.get()
    assert list(model.groups.all()) == [people.support]
    client.post(f"/playground/models/{model.pk}/delete/")
    assert not ChatModel.objects.exists()


def test_a_chat_without_its_model_can_be_read(people: People, fakes: Serve) -> None:
    bench = connect(people, fakes("anthropic"))
    bench.fake.script = [Say("Dear Sir")]
    client = session_of(people.alice)
    chat = begin(bench, client)
    work(client, chat)
    bench.model.delete()

    page = client.get(f"/playground/chat/{chat.pk}/").content.decode()

    assert "Removed model" in page
    assert "Dear Sir" in page
    assert client.post(f"/playground/chat/{chat.pk}/", {"message": "x"}).status_code == 422
