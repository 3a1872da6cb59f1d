"""Fixtures: an installed server, and encryption keys."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from pytest_django.fixtures import Settings

from catalog.models import Integration
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.health_history import record_health
from marketplace.models import Installation, InstallationEvent
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give
from tests.pages.conftest import (  # noqa: F401 - fixtures
    admin,
    alice,
    as_admin,
    as_alice,
    page,
    support,
)

CANARY = "canary-Qm47-value"


@pytest.fixture(autouse=True)
def _keys(settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)


@pytest.fixture
def charlie(db: None) -> User:
    return UserFactory.create(username="charlie")


@pytest.fixture
def mail(support: Group, admin: User) -> Integration:  # noqa: F811 - fixtures
    """An address with good and failed checks, granted to Support, with a tool in each state."""
    return installed("mail", support, admin, required_secrets=["TOKEN"], version="1.0.0")


def installed(slug: str, group: Group, by: User, **fields: Any) -> Integration:
    """A server with tools, a history, and an installation log."""
    row: Integration = IntegrationFactory.create(
        slug=slug, transport="http", endpoint="https://mail.example/mcp", **fields
    )
    give(row, group)
    for state in ("approved", "quarantined"):
        CapabilityFactory.create(integration=row, action=f"send_{state}", state=state)
    problem = ServerProblemError(Reason.CRASHED, "ImportError: no module named x")
    record_health(row, problem, milliseconds=20)
    record_health(row, milliseconds=120, tools=2)
    descriptor = {"slug": slug, "kind": "mcp", "title": row.title, "transport": "http"}
    installation = Installation.objects.create(
        integration=row,
        by=by,
        state="ready",
        descriptor={**descriptor, "endpoint": row.endpoint},
    )
    InstallationEvent.objects.create(
        installation=installation, state="ready", message="2 tools are stored."
    )
    row.refresh_from_db()
    return row
