"""Rate limits by address: anonymous, with wrong keys, behind a proxy, and while Redis is down."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from socket import socket

import pytest
import time_machine
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from acl.models import ApiKey
from acl.platform.client_address import client_address, network_of
from acl.web import rate_counts
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.redis import EmbeddedRedis
from tests.access.people import People
from tests.web.conftest import client_with, new_key

PROJECT = Path(__file__).resolve().parents[2]
URL = "/api/v1/select"
BODY = {"message": "hi", "user": "alice"}
LIMIT = 5
WRONG = "Bearer pb_wrong"


@pytest.fixture(autouse=True)
def _limits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.PEGBOARD_RATE_PER_ADDRESS = settings.PEGBOARD_RATE_WRONG_KEYS = LIMIT
    monkeypatch.setattr(rate_counts, "_local", rate_counts.LocalCounts())
    with time_machine.travel("2031-01-01T00:00:00Z", tick=False):
        yield


@pytest.fixture(params=["redis", "no redis"])
def _redis(request: pytest.FixtureRequest, settings: Settings) -> None:
    """Run with Redis, and without it, where each process counts by itself."""
    if request.param == "no redis":
        settings.REDIS_URL = "redis://127.0.0.1:1/0"


def ask(address: str, key: str = "", *, forwarded: str = "") -> int:
    headers = {"Authorization": key} if key else {}
    if forwarded:
        headers["X-Forwarded-For"] = forwarded
    client = Client(headers=headers, REMOTE_ADDR=address)
    return client.post(URL, BODY, "application/json").status_code


@pytest.mark.usefixtures("_redis")
@pytest.mark.django_db
def test_stranger_is_told_only_so_often_that_a_key_is_needed() -> None:
    answers = [ask("192.0.2.1") for _ in range(LIMIT + 2)]

    assert answers == [401] * LIMIT + [429] * 2
    assert ask("192.0.2.2") == 401


@pytest.mark.usefixtures("_redis")
@pytest.mark.django_db
def test_refusal_is_a_problem_that_says_when_to_come_back() -> None:
    client = Client(REMOTE_ADDR="192.0.2.3")

    for _ in range(LIMIT + 1):
        refused = client.get("/api/v1/names")

    assert refused.status_code == 429
    assert refused["Content-Type"] == "application/problem+json"
    assert 1 <= int(refused["Retry-After"]) <= 60


@pytest.mark.usefixtures("_redis")
@pytest.mark.django_db
def test_so_many_wrong_keys_a_minute_are_told_that_they_are_wrong() -> None:
    assert [ask("192.0.2.4", WRONG) for _ in range(LIMIT + 1)] == [401] * LIMIT + [429]
    assert ask("192.0.2.14", WRONG) == 401


@pytest.mark.usefixtures("_redis")
def test_wrong_keys_of_an_address_leave_its_right_ones_alone(key: str) -> None:
    for _ in range(2 * LIMIT):
        ask("192.0.2.5", WRONG)

    assert ask("192.0.2.5", f"Bearer {key}") == 200
    assert ask("192.0.2.5", WRONG) == 429


@pytest.mark.usefixtures("_redis")
def test_keys_that_are_no_longer_good_look_like_any_wrong_one(key: str) -> None:
    ApiKey.objects.update(revoked_at="2030-01-01T00:00:00Z")

    answers = [ask("192.0.2.15", one) for one in (f"Bearer {key}", WRONG) * LIMIT]

    assert answers == [401] * LIMIT + [429] * LIMIT


@pytest.mark.usefixtures("_redis")
@pytest.mark.django_db
def test_wrong_keys_are_answered_again_after_their_time() -> None:
    for _ in range(LIMIT + 1):
        ask("192.0.2.7", WRONG)

    with time_machine.travel("2031-01-01T00:02:00Z", tick=False):
        assert ask("192.0.2.7", WRONG) == 401


@pytest.mark.django_db
def test_header_that_anyone_can_write_gives_no_new_address(settings: Settings) -> None:
    answers = [ask("192.0.2.10", WRONG, forwarded=f"10.0.0.{n}") for n in range(LIMIT + 1)]

    assert answers[-1] == 429


@pytest.mark.django_db
def test_behind_a_proxy_the_last_forwarded_address_counts(settings: Settings) -> None:
    settings.PEGBOARD_TRUST_PROXY = True
    made_up = [f"10.0.0.{number}, 198.51.100.7" for number in range(LIMIT + 1)]

    answers = [ask("192.0.2.11", WRONG, forwarded=header) for header in made_up]

    assert answers[-1] == 429
    assert ask("192.0.2.11", WRONG, forwarded="198.51.100.8") == 401


@pytest.mark.parametrize(
    ("header", "address"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("198.51.100.7:4711", "198.51.100.7"),
        ("[2001:DB8::1]:443", "2001:db8::1"),
        ("2001:db8:0:0::1", "2001:db8::1"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("fe80::1%eth0", "fe80::1"),
        ("unknown", "192.0.2.12"),
        ("", "192.0.2.12"),
        ("198.51.100.7, ", "192.0.2.12"),
        ("x" * 9000, "192.0.2.12"),
    ],
)
def test_forwarded_address_is_read_as_proxies_write_it(
    settings: Settings, header: str, address: str
) -> None:
    settings.PEGBOARD_TRUST_PROXY = True
    request = RequestFactory(headers={"X-Forwarded-For": header}).get("/", REMOTE_ADDR="192.0.2.12")

    assert client_address(request) == address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_customers_of_a_provider_count_once(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.django_db
def test_probes_have_no_limit() -> None:
    client = Client(REMOTE_ADDR="127.0.0.1")

    assert {client.get("/readyz").status_code for _ in range(3 * LIMIT)} == {200}
    assert {client.get("/metrics").status_code for _ in range(3 * LIMIT)} == {200}


def test_made_up_addresses_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_counts, "MOST_COUNTED", 10)
    counts = rate_counts.LocalCounts()

    last = [counts.add(f"address{number}", 1) for number in range(100)][-1]

    assert last == (0, 90)  # they share the rest of the limit
    assert counts.add("address3", 1) == (0, 2)


def test_redis_that_stops_within_a_minute_at_most_doubles_the_limit(
    key: str, settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_RATE_PER_KEY = 20
    open_data_folder(tmp_path)
    server = EmbeddedRedis(tmp_path, durable=False)
    server.start()
    settings.REDIS_URL = server.url
    client = client_with(key)

    before = [client.post(URL, BODY, "application/json").status_code for _ in range(15)]
    server.stop()
    after = [client.post(URL, BODY, "application/json").status_code for _ in range(60)]

    assert before == [200] * 15
    assert set(after) == {200, 429}
    assert 20 <= (before + after).count(200) <= 2 * 20


@pytest.mark.processes
def test_several_processes_without_redis_stay_within_twice_the_limit() -> None:
    with socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    environment = os.environ | {
        "WEB_CONCURRENCY": "4",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "PEGBOARD_RATE_PER_ADDRESS": "20",
    }
    web = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "gunicorn", "marketplace.config.wsgi", "--preload",
         "--worker-class=gthread", "--threads=2", "--graceful-timeout=5",
         f"--bind=127.0.0.1:{port}", "--log-level=error"],
        cwd=PROJECT, env=environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(port)
        answers = Counter(_status(port, "/api/v1/names") for _ in range(300))
    finally:
        web.terminate()
        web.wait(120)

    assert set(answers) == {401, 429}
    # The sliding window loses a few counts if the clock's minute changes during the test.
    assert 20 <= answers[401] <= 2 * 20 + 4


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            _status(port, "/healthz")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("gunicorn does not answer")


def _status(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_key_of_support_and_an_address_are_counted_apart(key: str, people: People) -> None:
    for _ in range(LIMIT):
        ask("192.0.2.13")

    assert ask("192.0.2.13", f"Bearer {new_key(people.support)}") == 200
