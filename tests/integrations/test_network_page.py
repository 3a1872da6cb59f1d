"""The network of a program, on its page and in the API."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from acl.models import AuditEntry
from catalog.models import Integration, OutgoingHost
from tests.factories import IntegrationFactory, UserFactory


@pytest.fixture
def program(db: None) -> Integration:
    return IntegrationFactory.create(slug="notes", transport="stdio", command=["uvx", "notes==1"])


@pytest.fixture
def admin(db: None) -> User:
    return UserFactory.create(username="alice", is_staff=True, is_superuser=True)


def test_admin_allows_a_refused_host_with_one_click(
    program: Integration, admin: User, client: Client
) -> None:
    OutgoingHost.objects.create(
        integration=program,
        host="api.example.com",
        allowed=False,
        times=3,
        last_at="2026-01-01T00:00Z",
    )
    client.force_login(admin)
    page = client.get("/integrations/notes/").content.decode()

    client.post("/integrations/notes/network/", {"allow": "api.example.com"})

    program.refresh_from_db()
    after = client.get("/integrations/notes/").content.decode()
    assert "Allow api.example.com" in page
    assert program.allowed_hosts == ["api.example.com"]
    assert "Allow api.example.com" not in after
    assert AuditEntry.objects.filter(action="integration.network", target="notes").exists()


def test_crash_names_the_hosts_that_its_program_was_refused(
    program: Integration, admin: User, client: Client
) -> None:
    now = timezone.now()
    for host, minutes in (("api.example.com", 1), ("old.example.com", 60)):
        last_at = now - timedelta(minutes=minutes)
        program.outgoing_hosts.create(host=host, allowed=False, times=1, last_at=last_at)
    program.checks.create(reason="crashed", checked_at=now)
    client.force_login(admin)
    told = r"refused these hosts at about that time:\s*<code dir=\"ltr\">api.example.com</code>\."

    before = client.get("/integrations/notes/").content.decode()
    client.post("/integrations/notes/network/", {"allow": "api.example.com"})
    after = client.get("/integrations/notes/").content.decode()

    assert re.search(told, before)
    assert "at about that time" not in after


def test_wrong_host_is_shown_beside_the_field_and_changes_nothing(
    program: Integration, admin: User, client: Client
) -> None:
    client.force_login(admin)

    answer = client.post("/integrations/notes/network/", {"hosts": "127.0.0.1"})

    program.refresh_from_db()
    assert answer.status_code == 422
    assert "is not a host name" in answer.content.decode()
    assert program.allowed_hosts == []
