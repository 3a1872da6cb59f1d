"""Fixtures: two groups with a tool each, and a file that says so."""

from textwrap import dedent

import pytest
from django.contrib.auth.models import Group, User

from acl.people.groups import create_group
from catalog.models import Capability
from marketplace.config_file.apply_service import Applied, apply_text
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory


@pytest.fixture
def support(db: None) -> Group:
    return create_group(by=None, name="Support")


@pytest.fixture
def alice(support: Group) -> User:
    return UserFactory.create(username="alice", groups=[support])


@pytest.fixture
def send_email(db: None) -> Capability:
    gmail = IntegrationFactory.create(slug="gmail")
    return CapabilityFactory.create(integration=gmail, action="send_email")


def apply(text: str, **options: object) -> Applied:
    """Apply a file as the operator."""
    document = "pegboard: 1\n" + dedent(text)
    return apply_text(by=None, text=document, source="test.yaml", **options)  # type: ignore[arg-type]
