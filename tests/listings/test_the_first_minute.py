"""End to end: from the first click to an approved write.

An admin finds and installs a server, a message selects its tool, a chat backend executes it, and a
writing tool waits for approval. The server comes from its package index; if no index answers, the
test is skipped with a message. A Celery worker runs in threads of this process. With
PEGBOARD_TEST_PICTURES it takes a picture of each step (`pictures.py`).
"""

import re
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from celery.contrib.testing.worker import start_worker
from celery.signals import worker_shutdown
from django.contrib.auth.models import Group, User
from django.db import connections
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import create_key
from catalog.models import Integration
from discovery.calls import state, tasks
from discovery.select.example_texts import warm_common_abilities
from discovery.select.judgements import warm_small_talk
from marketplace.config.celery_servers import MODULES
from marketplace.models import Installation, Listing
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give
from tests.pages.conftest import sign_in
from tests.pages.pictures import keep_picture

pytestmark = [
    pytest.mark.browser,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]
QUESTION = "what time is it in Tokyo?"
NO_INDEX = {"index_not_reachable", "client_missing"}


@pytest.fixture
def _loaded_models(starter: Listing) -> None:
    """Load what the server loads before its first request: seconds, many on a busy machine."""
    warm_small_talk()
    warm_common_abilities()


@pytest.fixture
def worker(
    transactional_db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Run outgoing calls and embeddings on their own queue, with their own connections."""
    settings.PEGBOARD_DATA_DIR = tmp_path
    settings.PEGBOARD_LAUNCHERS = ("uvx", sys.executable)
    settings.PEGBOARD_APPROVE = "write"
    settings.PEGBOARD_TRUSTED_SERVERS = ("time",)  # its claims that tools only read are trusted
    for module in MODULES:
        import_module(module)
    with own_connections():
        monkeypatch.setattr(state, "QUEUE", "calls of the first minute")
        calls = tasks.Listener(queue="calls of the first minute")
        calls.start()
        before = current_app.conf.broker_url, current_app.conf.broker_transport_options
        _use("memory://", {})
        with start_worker(
            current_app, pool="threads", concurrency=4, perform_ping_check=False,
            queues=["celery", "servers"], loglevel="error", shutdown_timeout=30,
        ):  # fmt: skip
            yield
        worker_shutdown.send(sender=None)  # as its process would say
        _use(*before)
        calls.stop()
    connections.close_all()


def _use(broker: str, options: dict[str, Any]) -> None:
    current_app.conf.broker_url = broker
    current_app.conf.broker_transport_options = options
    current_app.set_default()
    current_app._pool = None
    current_app.amqp._producer_pool = None


@pytest.fixture
def sales(db: None) -> Group:
    return GroupFactory.create(name="Sales")


@pytest.fixture
def notes(support: Group, tmp_path: Path) -> Integration:
    """An installed server with one writing tool."""
    kept = IntegrationFactory.create(
        slug="notes",
        title="Notes",
        transport="stdio",
        command=[sys.executable, "-I", str(EVIL), ""],
    )
    give(kept, support)
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to write."}},
        "required": ["text"],
    }
    CapabilityFactory.create(
        integration=kept,
        action="echo",
        display_name="Write a note",
        description="Writes a line into the notebook of the team.",
        side_effect="write",
        input_schema=schema,
    )
    return kept


@pytest.mark.usefixtures("_loaded_models")
def test_from_the_first_click_to_the_approved_write(
    page: Page,
    admin: User,
    alice: User,
    support: Group,
    sales: Group,
    starter: Listing,
    notes: Integration,
    worker: None,
    live_server: LiveServer,
) -> None:
    page.emulate_media(reduced_motion="reduce")
    sign_in(page, admin, live_server)
    find_time(page)
    install_it(page)
    watch_it(page)

    assert set(Installation.objects.get().groups.all()) == {support, sales}
    page.context.clear_cookies()
    sign_in(page, alice, live_server)
    a_message_chooses_it(page)
    backend = backend_of(support)
    the_backend_executes_it(backend)
    call = a_write_waits(backend)
    page.context.clear_cookies()
    sign_in(page, admin, live_server)
    someone_approves_it(page)
    assert "Call Tokyo at nine" in str(completed(backend, call))


def find_time(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Marketplace").click()
    expect(page.get_by_role("heading", name="Marketplace", level=1)).to_be_visible()
    page.get_by_label("Search the marketplace").press_sequentially("what time is it elsewhere")
    searched = page.locator(".market-count")
    expect(searched).to_contain_text("for “what time is it elsewhere”")
    keep_picture(page, "first-minute-marketplace")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page.get_by_role("heading", name="Time", level=1)).to_be_visible()
    keep_picture(page, "first-minute-listing")


def install_it(page: Page) -> None:
    page.get_by_role("link", name="Install", exact=True).click()
    for group in ("Support", "Sales"):
        page.get_by_role("checkbox", name=group).check()
    expect(page.locator("#command")).to_have_text("uvx mcp-server-time==2026.10.19")
    page.get_by_role("checkbox", name="I have read this command").check()
    keep_picture(page, "first-minute-install")
    page.get_by_role("button", name="Install").dblclick()


def watch_it(page: Page) -> None:
    ended = page.get_by_role("heading", level=1, name="Time")
    expect(ended).to_be_visible()
    keep_picture(page, "first-minute-installing")
    expect(ended).to_have_text(re.compile("is ready|could not be installed"), timeout=120_000)
    one = Installation.objects.get()
    if one.reason in NO_INDEX:
        pytest.skip("No package index answers, or there is no client for it.")
    assert one.state == Installation.State.READY, one.message
    keep_picture(page, "first-minute-installed")


def a_message_chooses_it(page: Page) -> None:
    page.goto("/")
    page.get_by_role("textbox", name="Message", exact=True).press_sequentially(QUESTION)
    chosen = page.locator(".full-name", has_text="time__get_current_time")
    expect(chosen.first).to_be_visible()
    keep_picture(page, "first-minute-playground")


def backend_of(group: Group) -> Client:
    """Run the chat backend: it selects and executes for members of the group."""
    _, raw = create_key(
        by=None,
        name="chat",
        group=group,
        scopes=["select", "discover", "execute"],
        acts_for_users=True,
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def post(backend: Client, path: str, **body: Any) -> Any:
    return backend.post(f"/api/v1/{path}", {"user": "alice", **body}, "application/json")


def the_backend_executes_it(backend: Client) -> None:
    selected = post(backend, "select", message=QUESTION).json()["selected"]
    answer = post(
        backend, "execute", name=selected[0]["full_name"], arguments={"timezone": "Asia/Tokyo"}
    )

    assert selected[0]["full_name"] == "time__get_current_time"
    assert selected[0]["readiness"] == told_by_lookup(backend, selected[0]["full_name"]) == "ready"
    assert answer.status_code in (200, 202), answer.content
    assert answer.json()["status"] in {"completed", "running"}
    assert "Asia/Tokyo" in str(completed(backend, answer.json()["call_id"]))


def a_write_waits(backend: Client) -> str:
    answer = post(backend, "execute", name="notes__echo", arguments={"text": "Call Tokyo at nine"})

    assert told_by_lookup(backend, "notes__echo") == "asks_first"
    assert (answer.status_code, answer.json()["status"]) == (202, "approval_needed")
    return str(answer.json()["call_id"])


def told_by_lookup(backend: Client, full_name: str) -> str:
    """Return the readiness before a call."""
    answer = backend.get(f"/api/v1/capabilities/{full_name}", {"user": "alice"}).json()
    return str(answer["readiness"])


def someone_approves_it(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Approvals").click()
    expect(page.get_by_text("Write a note")).to_be_visible()
    keep_picture(page, "first-minute-approvals")
    page.get_by_role("link", name="Write a note").click()
    expect(page.get_by_text("Call Tokyo at nine")).to_be_visible()
    keep_picture(page, "first-minute-approval")
    page.get_by_role("button", name="Approve call").click()


def completed(backend: Client, call: str) -> Any:
    """Poll for the result, as a backend does after a 202."""
    deadline = time.monotonic() + 60
    told = backend.get(f"/api/v1/calls/{call}").json()
    while told["status"] != "completed" and time.monotonic() < deadline:
        time.sleep(0.2)
        told = backend.get(f"/api/v1/calls/{call}").json()

    assert told["status"] == "completed", told
    return told["result"]
