"""Imported servers are neither contacted nor started before an admin has confirmed them."""

import json
import subprocess
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client

from acl.models import AuditEntry
from catalog.models import HealthCheck, Integration, OAuthSignIn
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.params import build_server
from catalog.servers.oauth.accounts import CannotSignInError, begin_sign_in
from catalog.servers.oauth.sign_in import prepare
from catalog.servers.tasks import check_integrations, sync_definitions, sync_integrations
from marketplace.config.celery_servers import MODULES
from marketplace.installs.integration_management import pending_update, start_update
from marketplace.installs.requests import TargetChangedError
from marketplace.integrations.review_decisions import target_to_confirm
from marketplace.integrations.server_health import check_now
from marketplace.models import Installation, Listing
from tests.factories import ListingFactory, UserFactory, active_model

pytestmark = pytest.mark.django_db
JSON = "application/json"
REMOTE = "https://mcp.example.com/mcp"
DOCKER = """
name: desk
image: mcp/desk
type: server
about: {title: Desk, description: Tidies a desk.}
source: {project: "https://github.com/x/y", commit: "0"}
"""


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Recorded connections and programs of this process."""
    seen: list[str] = []

    def note(kind: str) -> Any:
        def noted(*arguments: Any, **_: Any) -> Any:
            seen.append(f"{kind} {arguments[1:]}")
            raise OSError("There is nothing outside of a test.")

        return noted

    monkeypatch.setattr("httpcore2.AsyncConnectionPool.handle_async_request", note("request"))
    monkeypatch.setattr("httpcore2.ConnectionPool.handle_request", note("request"))
    monkeypatch.setattr(subprocess.Popen, "__init__", note("program"))
    monkeypatch.setattr("asyncio.create_subprocess_exec", note("program"))
    return seen


def remote(**fields: Any) -> Integration:
    """An imported remote server."""
    active_model()
    values = {"title": "Far", "kind": "mcp", "transport": "http", "endpoint": REMOTE}
    return Integration.objects.create(**({"slug": "far", "unconfirmed": True} | values | fields))


def program(**fields: Any) -> Integration:
    command = ["uvx", "mcp-server-example==1.0.0"]
    return remote(**({"transport": "stdio", "endpoint": "", "command": command} | fields))


def docker_entry(folder: Path) -> None:
    (folder / "desk").mkdir()
    (folder / "desk" / "server.yaml").write_text(DOCKER)
    tools = [{"name": "tidy", "description": "Tidies.", "arguments": []}]
    (folder / "desk" / "tools.json").write_text(json.dumps(tools))


def test_an_import_that_could_be_reached_or_started_is_not_confirmed(tmp_path: Path) -> None:
    docker_entry(tmp_path)

    call_command("import_catalog", str(tmp_path), "--json", stdout=(out := StringIO()))

    row = Integration.objects.get()
    assert (row.transport, row.unconfirmed) == ("stdio", True)
    assert json.loads(out.getvalue())["capabilities"]["unconfirmed"] == ["desk"]


@pytest.mark.parametrize("make", [remote, program])
def test_no_task_reaches_or_starts_it(make: Any, doors: list[str]) -> None:
    row = make(connection="failing")

    check_integrations()
    sync_integrations()
    assert sync_definitions(row.pk) is None

    with pytest.raises(ServerProblemError) as refused:
        build_server(row)
    assert refused.value.reason == Reason.NOT_CONFIRMED
    assert doors == []
    assert not HealthCheck.objects.exists()


@pytest.fixture
def at_once() -> Iterator[None]:
    """Run tasks immediately when they are sent."""
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.mark.usefixtures("at_once")
def test_every_periodic_task_leaves_it_alone(doors: list[str]) -> None:
    """Run all periodic tasks of the schedule, current and future; none goes out."""
    remote(connection="failing")
    program(slug="near", connection="failing")
    for module in MODULES:
        import_module(module)
    names = {str(entry["task"]) for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    those_that_go_out = sorted(name for name in names if name.startswith("servers."))

    for name in those_that_go_out:
        current_app.tasks[name].apply()

    assert len(those_that_go_out) >= 4
    assert doors == []


def test_nobody_signs_in_there(doors: list[str]) -> None:
    row, alice = remote(), UserFactory.create()

    with pytest.raises(CannotSignInError):
        begin_sign_in(by=alice, integration=row, user=alice, redirect_uri="https://p.example/")
    waiting = OAuthSignIn.objects.create(
        integration=row, user=alice, by=alice, ticket_digest="x", redirect_uri="https://p.example"
    )
    prepare(waiting.pk)

    waiting.refresh_from_db()
    assert waiting.state == "failed"
    assert doors == []


def test_check_now_asks_nobody(doors: list[str]) -> None:
    assert not check_now(by=UserFactory.create(is_staff=True), integration=remote())


@pytest.fixture
def grace() -> User:
    person: User = UserFactory.create(username="grace", is_staff=True)
    return person


def test_an_admin_confirms_an_address_that_was_shown_whole(client: Client, grace: User) -> None:
    row = remote()
    client.force_login(grace)

    page = client.get("/integrations/far/confirm/").content.decode()
    digest = client.get("/api/v1/integrations/far/confirm").json()["digest"]
    answer = client.post("/integrations/far/confirm/", {"confirmed": digest})

    row.refresh_from_db()
    assert REMOTE in page
    assert (answer.status_code, row.unconfirmed) == (302, False)
    assert AuditEntry.objects.get(action="integration.confirm").target == "far"


def test_a_confirmation_is_for_what_was_seen(client: Client, grace: User) -> None:
    row = remote()
    digest = target_to_confirm(row).digest
    Integration.objects.update(endpoint="https://evil.example/mcp")
    client.force_login(grace)

    answer = client.post(
        "/api/v1/integrations/far/confirm", {"digest": digest}, content_type="application/json"
    )

    row.refresh_from_db()
    assert (answer.status_code, row.unconfirmed) == (409, True)


def test_a_program_takes_the_permission_to_install_programs(client: Client, grace: User) -> None:
    row = program()
    client.force_login(grace)
    body = {"digest": target_to_confirm(row).digest}

    def confirm() -> int:
        url = "/api/v1/integrations/far/confirm"
        return client.post(url, body, content_type="application/json").status_code

    refused = confirm()
    grace.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    allowed = confirm()

    row.refresh_from_db()
    assert (refused, allowed, row.unconfirmed) == (403, 200, False)
    assert row.command_digest


def test_another_command_from_the_same_source_is_confirmed_again(tmp_path: Path) -> None:
    docker_entry(tmp_path)
    call_command("import_catalog", str(tmp_path), "--json", stdout=StringIO())
    Integration.objects.update(unconfirmed=False)
    path = tmp_path / "desk" / "server.yaml"
    path.write_text(f"{DOCKER}run: {{command: ['--all']}}\n")

    call_command("import_catalog", str(tmp_path), "--json", stdout=StringIO())

    assert Integration.objects.get().unconfirmed


@pytest.mark.parametrize("way", ["page", "API"])
def test_an_address_that_changes_while_an_admin_looks_is_looked_at_again(
    client: Client, grace: User, way: str
) -> None:
    active_model()
    listing = ListingFactory.create(slug="far", transport="http", endpoint=REMOTE)
    client.force_login(grace)
    page = client.get("/marketplace/listings/far/install/").content.decode()
    digest = client.get("/api/v1/installations/preview?listing=far").json()["digest"]
    fields = {"key": "00000000-0000-4000-8000-000000000001", "confirmed": digest}

    def install() -> int:
        if way == "page":
            return client.post("/marketplace/listings/far/install/", fields).status_code
        body = {"listing": "far", "confirmed": digest}
        return client.post("/api/v1/installations", body, JSON).status_code

    Listing.objects.update(endpoint="https://evil.example/mcp")
    refused = install()
    Listing.objects.update(endpoint=listing.endpoint)
    taken = install()

    assert f'name="confirmed" value="{digest}"' in page
    assert (refused, taken) == ((422, 302) if way == "page" else (409, 202))
    assert Integration.objects.get().endpoint == REMOTE


def test_an_update_to_an_address_that_was_not_shown_does_not_begin(grace: User) -> None:
    row = remote(slug="far", listing="far", unconfirmed=False, version="1")
    ListingFactory.create(slug="far", transport="http", endpoint=REMOTE, version="2")
    shown = pending_update(row)
    Listing.objects.update(endpoint="https://evil.example/mcp")

    with pytest.raises(TargetChangedError):
        start_update(by=grace, integration=row, confirmed=shown.digest if shown else "")

    assert not Installation.objects.exists()
