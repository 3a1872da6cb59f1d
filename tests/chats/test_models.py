"""Chat models: who keeps and uses them, where their keys go, and when the broker opens one."""

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from catalog.servers.secrets.sealed_values import rotate_secrets, unseal
from discovery.chats.chats import ChatRefusedError, send_message
from discovery.chats.model_sender import send_request
from discovery.chats.models import (
    MOST_MODELS,
    ModelRefusedError,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.models import Chat, ChatModel, ModelRequest
from marketplace.operate.secret_broker.server import may_open
from tests.access.people import People
from tests.chats.conftest import Bench, admin
from tests.chats.fake_models import KEY

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
