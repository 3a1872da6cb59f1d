"""Connections that are confirmed: all of them is shown, on pages, in lists, and by the API."""

import json
import string
from html import unescape
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Integration
from marketplace.installs.confirmation import connection_lines, digest_of_target
from marketplace.installs.integration_management import pending_update, start_update
from marketplace.installs.requests import NotPermittedError, TargetChangedError
from marketplace.models import Installation
from tests.factories import IntegrationFactory, ListingFactory, UserFactory

pytestmark = pytest.mark.django_db

SIGN_IN = {
    "oauth": {
        "as": "bearer",
        "secrets": ["OAUTH_TOKEN"],
        "about": "A person signs in.",
        "sign_in": {
            "authorize": "https://login.example/authorize",
            "token": "https://login.example/token",
        },
    }
}
BEFORE: dict[str, Any] = {
    "transport": "http",
    "endpoint": "https://api.example/mcp",
    "required_secrets": ["TOKEN"],
}


@pytest.fixture
def admin(client: Client) -> User:
    admin = UserFactory.create(username="root", is_staff=True)
    admin.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    client.force_login(admin)
    return admin


def installed(after: dict[str, Any], **before: Any) -> Integration:
    """Return an integration, and store a listing that offers another version of it."""
    ListingFactory.create(slug="shop", version="2.0", **after)
    values = {**BEFORE, "source_ref": {"headers": {"X-Key": "${TOKEN}"}}, **before}
    return IntegrationFactory.create(slug="shop", listing="shop", version="1.0", **values)


def _made(random: Random) -> dict[str, Any]:
    """Make the facts of a connection, at any depth."""

    def word() -> str:
        return "".join(random.choices(string.ascii_letters + "-. ", k=random.randint(0, 4)))

    def value(depth: int) -> Any:
        kind = random.random()
        if depth == 0 or kind < 0.5:
            return random.choice([word(), word(), 1, True, None])
        if kind < 0.75:
            return [value(depth - 1) for _ in range(random.randint(0, 2))]
        return {word(): value(depth - 1) for _ in range(random.randint(0, 2))}

    return {
        "transport": random.choice(["http", "openapi", "stdio"]),
        "endpoint": word(),
        "command": tuple(word() for _ in range(random.randint(0, 3))),
        "required_secrets": tuple(word() for _ in range(random.randint(0, 2))),
        "source_ref": {
            "headers": {word(): word() for _ in range(random.randint(0, 2))},
            "security": {word(): value(3) for _ in range(random.randint(0, 2))},
        },
    }


@given(seed=st.integers(0, 2**32))
def test_lines_tell_every_difference_that_the_digest_covers(seed: int) -> None:
    random = Random(seed)
    facts = _made(random)
    others = facts | {name: value for name, value in _made(random).items() if random.random() < 0.3}
    before, after = (
        IntegrationDescriptor(slug="a", kind="mcp", title="A", **values)
        for values in (facts, others)
    )

    lines = connection_lines(after, before)

    differ = digest_of_target(before) != digest_of_target(after)
    assert any(line.is_changed for line in lines) == differ, (before, after, lines)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"details": {"headers": {"X-Key": "${TOKEN}", "X-To": "https://evil.example"}}},
         "https://evil.example"),
        ({"details": {"headers": {"X-Other": "${TOKEN}"}}}, "X-Other"),
        ({"transport": "openapi", "kind": "openapi", "details": {"security": SIGN_IN}},
         "https://login.example/token"),
        ({"endpoint": "https://api.example/mcp?to=elsewhere"}, "to=elsewhere"),
        ({"required_secrets": ["TOKEN", "PASSWORD"]}, "PASSWORD"),
        ({"transport": "stdio", "endpoint": "", "command": ["uvx", "a==1.0", "--to=evil"]},
         "--to=evil"),
    ],
)  # fmt: skip
def test_what_an_update_changes_is_on_its_page_and_in_the_api(
    client: Client, admin: User, after: dict[str, Any], said: str
) -> None:
    kept = {"details": {"headers": {"X-Key": "${TOKEN}"}}}
    row = installed({**BEFORE, **kept, **after})
    begun = Installation.objects.create(integration=row, by=admin, state="ready", descriptor={})

    page = unescape(client.get("/integrations/shop/update/").content.decode())
    told = client.get(f"/api/v1/installations/{begun.public_id}/update").json()

    assert said in page
    assert said in json.dumps(told["connection"])
    with pytest.raises((TargetChangedError, NotPermittedError)):  # nothing of it was displayed
        start_update(by=admin, integration=row)


def test_an_update_that_changes_the_connection_needs_what_was_displayed(admin: User) -> None:
    row = installed({**BEFORE, "details": {"headers": {"X-Key": "https://evil.example"}}})

    with pytest.raises(TargetChangedError):
        start_update(by=admin, integration=row)

    update = pending_update(row)
    assert update is not None
    assert start_update(by=admin, integration=row, confirmed=update.digest).kind == "update"


def test_today_starts_no_update_that_it_does_not_show_in_full(client: Client, admin: User) -> None:
    headers = {f"X-{number}": "a" for number in range(30)}
    row = installed({**BEFORE, "details": {"headers": headers}})
    update = pending_update(row)
    assert update is not None

    [shown] = client.get("/today/").context["work"].updates.rows
    answer = client.post("/today/updates/", {"update": f"shop:{update.digest}"}, follow=True)

    assert shown.choice == ""
    assert answer.status_code == 422
    assert "Review it on its page" in answer.content.decode()
    assert not Installation.objects.exists()


@pytest.mark.parametrize("digest", ["", "other"])
def test_today_starts_nothing_without_the_digest(client: Client, admin: User, digest: str) -> None:
    installed({**BEFORE, "details": {"headers": {"X-Key": "${TOKEN}"}}})

    answer = client.post("/today/updates/", {"update": f"shop:{digest}"}, follow=True)

    assert answer.status_code == 422
    assert not Installation.objects.exists()


def test_today_shows_a_header_that_changes(client: Client, admin: User) -> None:
    installed({**BEFORE, "details": {"headers": {"X-Key": "${TOKEN}", "X-To": "evil.example"}}})

    [shown] = client.get("/today/").context["work"].updates.rows

    assert [(fact.label, fact.before, fact.after) for fact in shown.facts] == [
        ("Header X-To", "", "evil.example")
    ]
    assert shown.choice


def test_an_import_and_an_installation_show_where_people_sign_in(
    client: Client, admin: User
) -> None:
    ListingFactory.create(
        slug="shop", kind="openapi", transport="openapi", endpoint="https://api.example/",
        details={"security": SIGN_IN, "headers": {"X-To": "https://b.example"}},
    )  # fmt: skip
    IntegrationFactory.create(
        slug="far", kind="openapi", transport="openapi", endpoint="https://api.example/",
        source_ref={"security": SIGN_IN, "headers": {"X-To": "https://b.example"}},
        unconfirmed=True,
    )  # fmt: skip

    shown = [
        unescape(client.get(path).content.decode())
        for path in (
            "/marketplace/listings/shop/install/",
            "/integrations/far/confirm/",
            "/api/v1/installations/preview?listing=shop",
            "/api/v1/integrations/far/confirm",
        )
    ]

    for text in shown:
        assert "https://login.example/token" in text
        assert "https://b.example" in text
