"""Chat models: who keeps and uses them, their API, their keys, and the providers' own types."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pydantic import TypeAdapter
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from catalog.servers.secrets.sealed_values import rotate_secrets, unseal
from catalog.trust.findings import trust_own_schema, trust_own_text
from discovery.answer.formats.base import Tool
from discovery.answer.formats.registry import write_tools
from discovery.chats.chats import ChatRefusedError, send_message
from discovery.chats.model_sender import send_request
from discovery.chats.models import (
    MOST_MODELS,
    ModelRefusedError,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.chats.providers.base import CallResult, ModelQuestion, Round
from discovery.chats.providers.registry import APIS
from discovery.models import Chat, ChatModel, ModelRequest
from marketplace.operate.secret_broker import may_open
from tests.access.people import People
from tests.chats import fake_models
from tests.chats.conftest import Bench, admin
from tests.chats.fake_models import KEY, MODEL, CallTools, FakeModel
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


def wanted(**changed: object) -> WantedModel:
    usual = {"name": "Fable", "provider": "anthropic", "model_id": "fable-1", "key": KEY}
    return WantedModel(**{**usual, **changed})  # type: ignore[arg-type]


def test_the_key_is_sealed_and_in_no_audit_entry() -> None:
    model = set_model(by=admin(), values=wanted())

    assert model.address == "https://api.anthropic.com"
    assert unseal(bytes(model.sealed_key), purpose=model.key_purpose) == KEY
    entry = AuditEntry.objects.get(action="chat_model.set")
    assert KEY not in str(entry.details)
    assert entry.details["new_key"]


def test_a_key_stays_only_at_its_address() -> None:
    model = set_model(by=None, values=wanted())
    kept = set_model(by=None, values=wanted(key="", model_id="fable-2"))

    for change in ({"address": "https://evil.example"}, {"provider": "openai"}):
        with pytest.raises(ModelRefusedError, match="enter the key again") as refused:
            set_model(by=None, values=wanted(key="", **change))
        assert refused.value.field == "key"

    assert (kept.pk, kept.model_id) == (model.pk, "fable-2")
    assert unseal(bytes(kept.sealed_key), purpose=kept.key_purpose) == KEY


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": "two words"}, "key"),
        ({"key": "line\nbreak"}, "key"),
        ({"key": "schlüssel"}, "key"),
        ({"provider": "compatible"}, "address"),
        ({"address": "http://10.0.0.1/v1"}, "address"),
        ({"address": "https://169.254.169.254/v1"}, "address"),
        ({"address": "file:///etc/passwd"}, "address"),
        ({"address": "https://user:pass@example.com"}, "address"),
        ({"address": "https://example.com/v1?key=1"}, "address"),
    ],
)
def test_what_cannot_work_is_refused(change: dict[str, str], field: str) -> None:
    with pytest.raises(ModelRefusedError) as refused:
        set_model(by=None, values=wanted(**change))

    assert refused.value.field == field
    assert not ChatModel.objects.filter(name="Fable").exists()


def test_a_server_nearby_needs_its_host_allowed_and_no_key(settings: Settings) -> None:
    near = {"provider": "compatible", "address": "http://localhost:11434/v1/", "key": ""}
    with pytest.raises(ModelRefusedError, match="let an admin allow its host"):
        set_model(by=None, values=wanted(**near))

    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("localhost", 11434),)
    model = set_model(by=None, values=wanted(**near))

    assert (model.address, bytes(model.sealed_key)) == ("http://localhost:11434/v1", b"")


def test_models_are_for_admins_and_the_groups_that_are_named(people: People) -> None:
    own = set_model(by=None, values=wanted())
    shared = set_model(by=None, values=wanted(name="Shared", groups=[people.support]))
    root = admin()
    gone = User.objects.create(username="gone", is_staff=True, is_active=False)

    usable = {
        person.username: list(ChatModel.objects.usable_by(person))
        for person in (root, people.alice, people.charlie, gone)
    }

    assert usable == {"root": [own, shared], "alice": [shared], "charlie": [], "gone": []}


def test_provider_of_no_module_is_refused_everywhere(bench: Bench) -> None:
    with pytest.raises(ModelRefusedError, match="no such provider"):
        set_model(by=None, values=wanted(provider="pigeon"))
    message = bench.say()
    request = message.requests.get()
    ChatModel.objects.update(provider="pigeon")  # of a later version

    send_request(request.pk)

    request.refresh_from_db()
    assert (request.state, request.reason) == ("failed", "no_model")
    with pytest.raises(ChatRefusedError, match="no such provider"):
        send_message(by=bench.people.alice, chat=Chat.objects.get(), text="hi", compare=False)


def test_there_is_a_limit_to_models() -> None:
    for number in range(MOST_MODELS):
        ChatModel.objects.create(name=f"m{number}", provider="compatible", address="https://x")

    with pytest.raises(ModelRefusedError, match="the limit"):
        set_model(by=None, values=wanted())


def test_the_broker_opens_a_key_while_its_model_is_asked(bench: Bench) -> None:
    message = bench.say()
    purpose = bench.model.key_purpose
    before = may_open(purpose)

    message.requests.update(state=ModelRequest.State.RUNNING)
    during = may_open(purpose), may_open("chat-model/999/key"), may_open(f"{purpose}/x")

    assert (before, during) == (False, (True, False, False))


def test_keys_take_part_in_a_rotation_and_go_with_their_model() -> None:
    model = set_model(by=None, values=wanted())
    sealed = bytes(model.sealed_key)

    rotated = rotate_secrets()

    model.refresh_from_db()
    assert rotated.sealed == 1
    assert bytes(model.sealed_key) != sealed
    delete_model(by=None, model=model)
    assert not ChatModel.objects.exists()
    assert AuditEntry.objects.filter(action="chat_model.deleted", target="Fable").exists()


ADDRESS = "/api/v1/chat-models"
FABLE = {"name": "Fable", "provider": "openai", "model": "fable-1", "key": KEY}


@pytest.fixture
def root(people: People) -> Client:
    return session_of(admin())


def test_models_are_set_listed_and_deleted_without_their_key(root: Client, people: People) -> None:
    body = {**FABLE, "groups": ["support"], "daily_tokens": 500}

    made = root.post(ADDRESS, body, content_type="application/json")
    listed = root.get(ADDRESS).json()["models"]

    model = ChatModel.objects.get()
    assert made.json() == {
        "id": model.pk,
        "name": "Fable",
        "provider": "openai",
        "model": "fable-1",
        "address": "https://api.openai.com/v1",
        "groups": ["support"],
        "daily_tokens": 500,
    }
    assert listed == [made.json()]
    assert unseal(bytes(model.sealed_key), purpose=model.key_purpose) == KEY
    assert root.delete(f"{ADDRESS}/{model.pk}").status_code == 204
    assert root.delete(f"{ADDRESS}/{model.pk}").status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"provider": "other"}, "provider"),
        ({"groups": ["nobody"]}, "groups"),
        ({"address": "http://localhost/v1"}, "address"),
        ({"daily_tokens": 0}, "daily_tokens"),
        ({"key": ""}, "key"),
        ({"keys": "x"}, "keys"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(
    root: Client, change: dict[str, object], field: str
) -> None:
    answer = root.post(ADDRESS, {**FABLE, **change}, content_type="application/json")

    assert answer.status_code == 400
    assert field in answer.content.decode()
    assert not ChatModel.objects.exists()


ASKS = CallTools((("letters__polite", {"tone": "warm"}),), text="I look it up.")
SCHEMA = {"type": "object", "properties": {"tone": {"type": "string"}}}
PROVIDERS = tuple(APIS)


def types_of(provider: str) -> tuple[Any, Any]:
    """Import the types of a request and of an answer here: SDKs take seconds to load."""
    if provider == "anthropic":
        import anthropic.types
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

        return MessageCreateParamsNonStreaming, anthropic.types.Message
    if provider == "gemini":
        import google.genai.types as gemini

        return gemini.Content, gemini.GenerateContentResponse
    import openai.types.chat
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return CompletionCreateParamsNonStreaming, openai.types.chat.ChatCompletion


def as_read(kind: Any, payload: Any) -> Any:
    """Parse with the SDK, which drops unknown fields and rejects wrong ones."""
    adapter = TypeAdapter(kind)
    read = adapter.validate_python(payload)
    return adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_requests_and_answers_are_what_the_sdk_has(provider: str) -> None:
    request_type, answer_type = types_of(provider)
    fake, api = FakeModel(provider), APIS[provider]
    answer = fake_models.APIS[provider].answer(fake, ASKS)

    TypeAdapter(answer_type).validate_python(answer)
    read = api.read(answer)
    results = tuple(CallResult(one.id, one.name, "…", is_error=False) for one in read.calls)
    body = api.body(_question(provider, Round(read.content, results)))

    assert [(one.name, one.arguments) for one in read.calls] == list(ASKS.calls)
    if provider == "gemini":
        assert [as_read(request_type, one)["role"] for one in body["contents"]] == [
            "user", "model", "user", "model", "user",
        ]  # fmt: skip
    else:
        written = {name: part for name, part in body.items() if name != "messages"}
        checked = as_read(request_type, body)
        assert {name: checked[name] for name in written} == written
        assert len(list(checked["messages"])) == len(body["messages"])


def _question(provider: str, one: Round) -> ModelQuestion:
    tool = Tool("letters__polite", trust_own_text("Polite"), trust_own_text("Polite letters."),
                trust_own_schema(SCHEMA))  # fmt: skip
    tools = write_tools([tool], APIS[provider].FORMAT) or []
    return ModelQuestion(MODEL, "Be brief.", (("hello", "Hello!"),), "a letter", (one,), tools)
