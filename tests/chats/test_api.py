"""The API of chat models: for admins, and without keys."""

import pytest
from django.test import Client

from catalog.servers.secrets.sealed_values import unseal
from discovery.models import ChatModel
from tests.access.people import People
from tests.chats.conftest import admin
from tests.chats.fake_models import KEY

ADDRESS = "/api/v1/chat-models"
FABLE = {"name": "Fable", "provider": "openai", "model": "fable-1", "key": KEY}


@pytest.fixture
def root(people: People) -> Client:
    client = Client()
    client.force_login(admin())
    return client


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


def test_others_are_refused(people: People) -> None:
    client = Client()
    client.force_login(people.alice)

    assert client.get(ADDRESS).status_code == 403
    assert client.post(ADDRESS, FABLE, content_type="application/json").status_code == 403
