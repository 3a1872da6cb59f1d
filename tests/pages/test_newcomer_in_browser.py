"""A newcomer from "Add" to the first call, by keyboard, with every step counted.

The server is a real one by the SDK, and the API answers as its own document says.
"""

import json
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from discovery.models import Call
from marketplace.additions.worker import look_at
from marketplace.models import Addition
from tests.calls.worker import run_call
from tests.catalog.conftest import embedder as embedder
from tests.connection_loops import own_connections
from tests.connections.addresses import fine_server
from tests.openapi.documents import library
from tests.openapi.mock import mock_api
from tests.pages.conftest import sign_in
from tests.pages.hand import Hand, Job
from tests.worker_parts import in_worker, install_only_one

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder"),
]
FIELD = "Address, package, command or document"
# What lab/benchmarks.md says, too: clicks, and seconds of a person with a mouse.
COUNTED = {"a server by its address": (9, 22), "an API by its document": (8, 20)}


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    """Allow servers of this machine, as an operator may."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)


def install(hand: Hand, title: str, secret: str = "") -> None:
    """Go on from what was recognised and wait until it is ready; the one group gets it."""
    hand.press("link", "Continue")
    if secret:
        hand.fill("KEY", secret, pasted=True)
    hand.press("button", "Install")
    expect(hand.page.get_by_role("heading", name=f"Installing {title}")).to_be_visible()
    in_worker(install_only_one)
    expect(hand.page.get_by_role("heading", name=f"{title} is ready")).to_be_visible()


def run_the_tool(hand: Hand) -> Call:
    hand.press("button", "Run tool")
    hand.page.wait_for_url("**/try/?call=*")
    in_worker(lambda: run_call(Call.objects.get().pk))
    expect(hand.page.get_by_text("completed", exact=True)).to_be_visible()
    return Call.objects.get()


def check_against_the_docs(job: Job) -> None:
    """Compare with the docs what was counted; nothing is timed."""
    print(job, round(job.seconds))  # noqa: T201
    clicks, seconds = COUNTED[job.name]
    assert (job.clicks, round(job.seconds)) == (clicks, seconds)
    told = Path("lab/benchmarks.md").read_text("utf-8")
    # Keys are left out: they depend on where the focus is when a poll swaps a part of the page.
    assert f"| {job.name} | {clicks} | {job.characters} |" in told


def test_first_call_of_a_server_that_was_added_by_its_address(
    page: Page, admin: User, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    hand = Hand(page)

    with (
        fine_server(title="Sums") as url,
        own_connections(),
        hand.job("a server by its address", "/marketplace/"),
    ):
        hand.press("link", "Add")
        hand.fill(FIELD, url, pasted=True)
        hand.press("button", "Add")
        expect(page.get_by_text("Inspecting it.")).to_be_visible()
        in_worker(lambda: look_at(Addition.objects.get().pk))
        expect(page.get_by_text("An MCP server with 2 tools.")).to_be_visible()
        expect(page.get_by_text("Add two numbers.")).to_be_visible()
        install(hand, "Sums")
        hand.press("link", "Try it : Add")
        hand.fill("first First", "2")
        hand.fill("second Second", "3")
        call = run_the_tool(hand)

    assert (call.result or {})["structured"] == {"result": 5}
    check_against_the_docs(hand.done[0])


def test_first_call_of_an_api_that_was_added_by_its_document(
    page: Page, admin: User, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    hand = Hand(page)

    with (
        mock_api(library()) as api,
        own_connections(),
        hand.job("an API by its document", "/marketplace/"),
    ):
        document = library(servers=[{"url": api.url}])
        hand.press("link", "Add")
        hand.fill(FIELD, json.dumps(document), pasted=True)
        hand.press("button", "Add")
        expect(page.get_by_text("Inspecting it.")).to_be_visible()
        in_worker(lambda: look_at(Addition.objects.get().pk))
        expect(page.get_by_text("An API with 5 operations (OpenAPI 3.0).")).to_be_visible()
        install(hand, "Town library", secret="s3cret-key")
        hand.press("link", "Try it : List the books")
        call = run_the_tool(hand)

    assert call.state == Call.State.COMPLETED
    assert api.asked[-1].headers["x-key"] == "s3cret-key"
    check_against_the_docs(hand.done[0])
