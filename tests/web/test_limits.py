"""Rate limits per minute, with and without Redis."""

from collections.abc import Iterator

import pytest
import time_machine
from django.test import Client
from pytest_django.fixtures import Settings

from acl.platform.redis_circuit import redis_circuit
from acl.web import rate_counts
from tests.access.people import People
from tests.web.conftest import client_with, new_key

URL = "/api/v1/select"
BODY = {"message": "hi", "user": "alice"}
LIMIT = 5


@pytest.fixture(autouse=True)
def _limit(settings: Settings) -> Iterator[None]:
    settings.PEGBOARD_RATE_PER_KEY = LIMIT
    with time_machine.travel("2030-01-01T00:00:00Z", tick=False):
        yield


@pytest.fixture(params=["redis", "no redis"])
def _redis(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run with Redis, and without it, where each process counts by itself."""
    monkeypatch.setattr(rate_counts, "_local", rate_counts.LocalCounts())
    if request.param == "no redis":
        settings.REDIS_URL = "redis://127.0.0.1:1/0"


def statuses(client: Client, times: int) -> list[int]:
    return [client.post(URL, BODY, "application/json").status_code for _ in range(times)]


@pytest.mark.usefixtures("_redis")
def test_request_over_the_limit_is_told_when_to_come_back(key: str) -> None:
    client = client_with(key)

    assert statuses(client, LIMIT) == [200] * LIMIT
    refused = client.post(URL, BODY, "application/json")

    assert refused.status_code == 429
    assert refused["Content-Type"] == "application/problem+json"
    assert 1 <= int(refused["Retry-After"]) <= 60


@pytest.mark.usefixtures("_redis")
def test_limit_of_one_key_leaves_another_alone(key: str, people: People) -> None:
    statuses(client_with(key), LIMIT + 1)

    assert statuses(client_with(new_key(people.support)), 1) == [200]


@pytest.mark.usefixtures("_redis")
def test_last_minutes_share_fades(key: str) -> None:
    client = client_with(key)
    statuses(client, LIMIT)

    with time_machine.travel("2030-01-01T00:01:30Z", tick=False):
        answers = statuses(client, LIMIT)

    assert answers == [200, 200, 429, 429, 429]


@pytest.mark.usefixtures("_redis")
def test_refused_requests_do_not_count(key: str) -> None:
    client = client_with(key)
    statuses(client, 4 * LIMIT)

    with time_machine.travel("2030-01-01T00:02:00Z", tick=False):
        assert statuses(client, LIMIT) == [200] * LIMIT


def test_redis_that_is_gone_is_left_alone_after_three_failures(
    key: str, settings: Settings
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.PEGBOARD_RATE_PER_KEY = 1000

    assert statuses(client_with(key), 4) == [200] * 4

    assert redis_circuit.failing
