"""CPU budgets by key, person and address: requests beyond them are refused."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from acl.platform.redis_circuit import redis_circuit
from acl.web import _rate_limits, rate_counts
from tests.access.people import People
from tests.web.conftest import client_with, new_key
from tests.web.conftest import key as key

URL = "/api/v1/select"
BODY = {"message": "hi", "user": "alice"}
LIMIT = 1000  # milliseconds a minute
COST = 0.5  # CPU seconds that each request is made to take
NOW = "2032-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _budget(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for payer in ("KEY", "PERSON", "ADDRESS"):
        setattr(settings, f"PEGBOARD_CPU_PER_{payer}", LIMIT)
    monkeypatch.setattr(rate_counts, "_spent", rate_counts.LocalCounts())
    rate_counts.forget_counts()
    redis_circuit.close()
    clock = iter(range(1_000_000))
    # Read at the beginning and the end of a request.
    monkeypatch.setattr(_rate_limits, "thread_time", lambda: next(clock) * COST)
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture(params=["redis", "no redis"])
def _redis(request: pytest.FixtureRequest, settings: Settings) -> None:
    if request.param == "no redis":
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
        settings.WEB_PROCESSES = 2


@pytest.mark.usefixtures("_redis")
def test_key_that_used_its_time_up_is_told_how_much_and_when(key: str) -> None:
    client = client_with(key)

    answers = [client.post(URL, BODY, "application/json") for _ in range(4)]

    refused = answers[-1]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert refused["Content-Type"] == "application/problem+json"
    assert (
        "1,500 ms of CPU time were used in the last minute, of 1,000 ms" in refused.json()["detail"]
    )
    assert 1 <= int(refused["Retry-After"]) <= 60


@pytest.mark.usefixtures("_redis")
def test_time_of_one_key_leaves_others_of_its_address_alone(key: str, people: People) -> None:
    spend(client_with(key))

    other = client_with(new_key(people.support)).post(URL, BODY, "application/json")
    stranger = Client().post(URL, BODY, "application/json")

    assert (other.status_code, stranger.status_code) == (200, 401)


def test_time_of_strangers_leaves_keys_of_their_address_alone(key: str) -> None:
    told = spend(Client())

    assert told[-1] == 429
    assert client_with(key).post(URL, BODY, "application/json").status_code == 200


def test_budget_refills(key: str) -> None:
    client = client_with(key)
    spend(client)

    with time_machine.travel("2032-01-01T00:02:30Z", tick=False):
        answer = client.post(URL, BODY, "application/json")

    assert answer.status_code == 200


def test_mcp_is_counted_with_the_same_key(key: str) -> None:
    client = client_with(key)
    spend(client)

    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    assert client.post("/mcp", ping, "application/json").status_code == 429


@pytest.mark.parametrize("page", ["/", "/admin/", "/account/"])
def test_pages_are_counted_by_person(people: People, page: str) -> None:
    first, second = Client(), Client()
    first.force_login(User.objects.get(username="alice"))
    second.force_login(User.objects.get(username="charlie"))
    told = [first.get("/").status_code for _ in range(4)]

    refused = first.get(page)

    assert told[-1] == refused.status_code == 429
    assert re.search(r"[\d,]+ ms of CPU time were used", refused.content.decode())
    assert int(refused["Retry-After"]) >= 1
    assert second.get("/").status_code == 200


@pytest.mark.django_db
def test_signing_in_is_counted_by_address() -> None:
    client = Client(REMOTE_ADDR="192.0.2.77")
    wrong = {"login": "alice", "password": "wrong"}

    told = [client.post("/sign-in/", wrong).status_code for _ in range(4)]

    assert told[-1] == 429
    assert Client(REMOTE_ADDR="192.0.2.78").get("/sign-in/").status_code == 200


@pytest.mark.django_db
def test_probes_are_always_answered() -> None:
    spend(Client())

    assert {Client().get(path).status_code for path in ("/livez", "/readyz") * 3} == {200}


def test_redis_holds_the_time_for_all_processes(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(client_with(key))
    monkeypatch.setattr(rate_counts, "_spent", rate_counts.LocalCounts())  # as in another process
    rate_counts.forget_counts()

    answer = client_with(key).post(URL, json.dumps(BODY), "application/json")

    assert answer.status_code == 429


def spend(client: Client) -> list[int]:
    return [client.post(URL, BODY, "application/json").status_code for _ in range(4)]


def test_people_of_a_key_have_limits_of_their_own(
    key: str, people: People, settings: Settings
) -> None:
    settings.PEGBOARD_CPU_PER_KEY, settings.PEGBOARD_CPU_PER_PERSON = 100_000, LIMIT
    people.support.user_set.add(people.bob)
    client = client_with(key)

    def status(user: str) -> int:
        return client.post(URL, BODY | {"user": user}, "application/json").status_code

    assert [status("alice") for _ in range(4)] == [200, 200, 200, 429]
    assert [status("bob") for _ in range(3)] == [200] * 3

    settings.PEGBOARD_CPU_PER_PERSON, settings.PEGBOARD_RATE_PER_PERSON = 100_000, 5
    assert [status("alice"), status("bob"), status("bob")] == [200, 200, 200]
    assert [status("bob"), status("alice")] == [429, 429]


def test_person_beyond_a_limit_is_told_at_every_surface(
    key: str, people: People, settings: Settings
) -> None:
    settings.PEGBOARD_RATE_PER_PERSON, settings.PEGBOARD_CPU_PER_PERSON = 1, 100_000
    client = client_with(key)
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers: dict[str, Any] = {
        "HTTP_ACCEPT": "application/json, text/event-stream",
        "HTTP_MCP_PROTOCOL_VERSION": "2025-11-25",
        "HTTP_X_PEGBOARD_USER": "alice",
    }
    assert client.get("/api/v1/categories", {"user": "alice"}).status_code == 200

    answers = [
        client.post(URL, BODY, "application/json"),
        client.get("/api/v1/capabilities", {"user": "alice"}),
        client.post("/mcp", rpc, "application/json", **headers),
        client.post("/api/v1/plan", BODY, "application/json"),
    ]

    assert [answer.status_code for answer in answers] == [429] * 4
    assert all(answer["Retry-After"] for answer in answers)
