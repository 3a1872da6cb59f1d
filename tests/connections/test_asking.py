"""Requests by integration: secrets reach their own server only, and health is recorded."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings

from catalog.models import HealthCheck, Integration
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from catalog.servers.connections.health_history import MAX_CHECKS, record_health
from catalog.servers.connections.params import build_server
from catalog.servers.connections.server_requests import call_tool, check_server, close_connection
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.store import set_secret
from catalog.servers.tasks import check_integration
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL, QUICK, text_of
from tests.factories import IntegrationFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def loop(settings: Settings) -> Iterator[ConnectionLoop]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    with own_connections(lambda: ConnectionPool(limits=QUICK)) as loop:
        yield loop


def program(mode: str = "", **fields: Any) -> Integration:
    return IntegrationFactory.create(
        transport="stdio",
        command=[sys.executable, "-I", str(EVIL), mode],
        connection=Integration.Connection.DISCONNECTED,
        **fields,
    )


def test_secrets_reach_their_own_server() -> None:
    alice = UserFactory.create(username="alice")
    mail, other = program(required_secrets=["TOKEN"], own_secrets=True), program()
    set_secret(integration=mail, name="TOKEN", value="all", by=alice)
    set_secret(integration=mail, name="TOKEN", value="alice", by=alice, user=alice)

    told = [
        json.loads(text_of(call_tool(integration, "surroundings", {}, user_id=user_id)))
        for integration, user_id in ((mail, None), (mail, alice.pk), (other, alice.pk))
    ]

    tokens = [each["environment"].get("TOKEN") for each in told]
    assert tokens == ["all", "alice", None]  # too short to be redacted


def test_wrong_secret_of_ones_own_takes_the_server_from_nobody() -> None:
    alice, mail = UserFactory.create(), program("crash", own_secrets=True)
    set_secret(integration=mail, name="TOKEN", value="wrong", by=alice, user=alice)

    for user_id in (alice.pk, None):
        before = mail.checks.count()
        with pytest.raises(ServerProblemError):
            call_tool(mail, "echo", {}, user_id=user_id)
        assert mail.checks.count() == before + (user_id is None)

    assert mail.connection == Integration.Connection.FAILING


def test_nothing_starts_without_its_secrets(settings: Settings, loop: ConnectionLoop) -> None:
    mail = program(required_secrets=["TOKEN"])

    with pytest.raises(ServerProblemError) as missing:
        call_tool(mail, "pid", {})
    set_secret(integration=mail, name="TOKEN", value="x", by=UserFactory.create())
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    with pytest.raises(SecretUnavailableError):
        call_tool(mail, "pid", {})

    assert (missing.value.reason, missing.value.detail) == (Reason.SIGN_IN_NEEDED, "Not set: TOKEN")
    assert loop.run(_open_keys) == []


async def _open_keys(connections: ConnectionPool) -> list[str]:
    return connections.open_keys()


def test_command_is_checked_again_before_it_starts(settings: Settings) -> None:
    settings.PEGBOARD_LAUNCHERS = ()

    with pytest.raises(ServerProblemError) as problem:
        call_tool(program(), "pid", {})

    assert problem.value.reason is Reason.NOT_ALLOWED
    assert "PEGBOARD_LAUNCHERS" in problem.value.detail


def test_health_is_written_in_words_and_bounded() -> None:
    good, bad = program(), program("crash_at_start")

    tools = check_server(good)
    check_integration(bad.pk)
    for _ in range(MAX_CHECKS + 5):
        record_health(good, milliseconds=1)
    for integration in (good, bad):
        integration.refresh_from_db()

    assert [tool["name"] for tool in tools.tools] == ["echo"]
    assert (good.connection, good.health) == ("connected", "")
    assert bad.connection == "failing"
    assert bad.health.startswith("The server exited unexpectedly.")
    assert [(check.reason, "ImportError" in check.last_words) for check in bad.checks.all()] == [
        ("crashed", True)
    ]
    assert HealthCheck.objects.filter(integration=good).count() == MAX_CHECKS


def test_words_of_a_server_are_stored_short_and_printable() -> None:
    bad = program("babbles")

    check_integration(bad.pk)

    words = bad.checks.get().last_words
    assert "the end" in words
    assert len(words) <= 500
    assert all(line.isprintable() for line in words.split("\n"))


def test_word_of_a_server_that_is_gone_is_not_written_down() -> None:
    gone = IntegrationFactory.create()
    Integration.objects.filter(pk=gone.pk).delete()

    assert record_health(gone) is None
    assert not HealthCheck.objects.exists()


def test_second_call_starts_nothing_until_the_connection_is_closed() -> None:
    fine = program()

    first, second = (text_of(call_tool(fine, "pid", {})) for _ in range(2))
    close_connection(fine)
    third = text_of(call_tool(fine, "pid", {}))

    assert first == second != third
    assert fine.checks.count() == 1  # the first connection; successful calls are not counted


def test_secrets_of_addresses_go_where_the_source_says() -> None:
    alice = UserFactory.create()
    laid_out = IntegrationFactory.create(
        transport="http",
        endpoint="https://example.com/${SPACE}/mcp",
        required_secrets=["SPACE", "TOKEN"],
        source_ref={"headers": {"X-Key": "Key ${TOKEN}"}},
    )
    bearer = IntegrationFactory.create(transport="sse", endpoint="https://example.com/")
    for integration, name, value in (
        (laid_out, "SPACE", "a/../b"),
        (laid_out, "TOKEN", "t1"),
        (bearer, "TOKEN", "t2"),
    ):
        set_secret(integration=integration, name=name, value=value, by=alice)

    assert build_server(laid_out) == HttpServer(
        "https://example.com/a%2F..%2Fb/mcp", {"X-Key": "Key t1"}
    )
    assert build_server(bearer) == HttpServer(
        "https://example.com/", {"Authorization": "Bearer t2"}, "sse"
    )


def test_secret_becomes_no_option() -> None:
    mail = program(required_secrets=["FOLDER"])
    Integration.objects.update(command=[*mail.command, "${FOLDER}"])
    mail.refresh_from_db()
    set_secret(integration=mail, name="FOLDER", value="--eval=x", by=UserFactory.create())

    with pytest.raises(ServerProblemError) as problem:
        build_server(mail)

    assert "--eval" not in f"{problem.value}{problem.value.detail}"


@pytest.mark.long
def test_web_loads_nothing_that_goes_out() -> None:
    """Complements the import contract: the web process with all its URLs loaded."""
    code = (
        "import sys; import marketplace.config.wsgi\n"
        "from django.urls import get_resolver; get_resolver().url_patterns\n"
        "from catalog.tasks import embed_capabilities; embed_capabilities.app.tasks\n"
        "print([name for name in sys.modules if name in ('catalog.servers.client.mcp_session',"
        " 'catalog.servers.connections._session_pool', 'catalog.servers.net.guarded_transport')])"
    )

    told = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert told.stdout.strip() == "[]"
