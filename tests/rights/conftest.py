"""Fixtures: alice of support, grace, an admin, and hugo, an admin who may act for others."""

from dataclasses import dataclass

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.access.people import People
from tests.factories import UserFactory


@dataclass(frozen=True)
class Staff:
    """grace is staff, hugo may also act for others, root is a superuser."""

    grace: User
    hugo: User
    root: User


@pytest.fixture
def staff(people: People) -> Staff:
    grace = UserFactory.create(username="grace", is_staff=True, groups=[people.support])
    hugo = UserFactory.create(username="hugo", is_staff=True, groups=[people.support])
    hugo.user_permissions.add(Permission.objects.get(codename="act_for_others"))
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    return Staff(grace, hugo, root)


def session_of(user: User) -> Client:
    """Return a browser session of the user."""
    client = Client(headers={"X-Request-ID": "story"})
    client.force_login(user)
    return client
