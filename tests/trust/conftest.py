"""Fixtures of admins' pages, with and without a browser."""

import pytest
from django.contrib.auth.models import Group, User

from acl.rights.caller_lookup import Caller
from catalog.models import ServerProposal
from catalog.servers.proposals import propose_server
from tests.pages.conftest import (  # noqa: F401 - fixtures
    admin,
    alice,
    as_admin,
    as_alice,
    page,
    support,
)
from tests.trust.reviewed_server import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def maps(alice: User, support: Group) -> ServerProposal:  # noqa: F811 - fixtures
    return propose_server(
        caller=Caller(alice.pk, support.pk),
        name="Maps",
        endpoint="https://maps.example.com/mcp",
        reason="For routes.",
    )
