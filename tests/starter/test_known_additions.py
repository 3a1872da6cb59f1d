"""Packages that are added by hand and known: they get what the starter collection says of them."""

import json

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from marketplace.additions.requests import add
from marketplace.installs.preparation import prepare_install
from marketplace.listings.store import store_listings
from marketplace.models import Addition, Listing
from marketplace.offers.kinds.starter import read_findings, starter_listings
from marketplace.offers.offer import WORKING
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
SQLITE = next(one for one in starter_listings() if one.slug == "sqlite")
GITHUB = next(one for one in starter_listings() if one.slug == "github-local")


@pytest.fixture
def alice(settings: Settings) -> User:
    store_listings([SQLITE, GITHUB], source="starter")
    settings.PEGBOARD_LAUNCHERS = ("uvx", "npx")
    alice = UserFactory.create(username="alice", is_staff=True)
    alice.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    return alice


def added(alice: User, what: str, *, index: str = "") -> Listing:
    [row] = add(by=alice, text=what, index=index)
    assert row.state == Addition.State.READY, row.message
    return Listing.objects.get(slug=row.listing)


@pytest.mark.parametrize(
    ("what", "index"),
    [
        ("uvx mcp-server-sqlite", ""),
        ("pip install MCP_Server.SQLite", ""),
        ("mcp-server-sqlite", "pypi"),
        (f"mcp-server-sqlite=={SQLITE.version}", ""),
        (json.dumps({"mcpServers": {"db": {"command": "uvx", "args": ["mcp-server-sqlite"]}}}), ""),
    ],
)
def test_known_package_gets_version_bounds_and_tools(alice: User, what: str, index: str) -> None:
    listing = added(alice, what, index=index)

    prepared = prepare_install(by=alice, listing=listing)

    assert prepared is not None
    assert prepared.test is not None
    assert prepared.test.state in WORKING
    assert prepared.bounds == ("mcp<2",)
    assert prepared.digest  # its version is exact, so it can be confirmed at once
    assert {"name": "read_query", "side_effect": "read"} in listing.tools


def test_its_own_arguments_stay_and_variables_are_added(alice: User) -> None:
    given = "MY_SETTING=1 npx -y @modelcontextprotocol/server-github@latest --verbose"

    listing = added(alice, given)

    assert listing.command[-1] == "--verbose"
    assert f"@modelcontextprotocol/server-github@{GITHUB.version}" in listing.command
    assert set(listing.required_secrets) == set(GITHUB.required_secrets)
    settings = {v["name"]: v["default"] for v in listing.needs["variables"] if v.get("default")}
    assert settings == {"MY_SETTING": "1"}


def test_other_versions_and_packages_need_no_bounds(alice: User) -> None:
    other = prepare_install(by=alice, listing=added(alice, "uvx mcp-server-sqlite==2025.1.1"))
    unknown = added(alice, "uvx mcp-server-nobody-knows==1.0.0")

    assert other is not None
    assert other.test is not None  # the page says that this version has not been tested
    assert (other.bounds, other.descriptor.version) == ((), "2025.1.1")
    assert unknown.details.get("type") is None


def test_page_says_that_it_is_known_to_work(client: Client, alice: User) -> None:
    client.force_login(alice)

    page = client.post(reverse("add-anything"), {"what": "uvx mcp-server-sqlite"}, follow=True)

    assert "Known to work" in page.content.decode()
    assert read_findings()["sqlite"]["called"] in page.content.decode()
