"""Applications and their keys, for tests."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from django.contrib.auth.models import Group
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, Application
from catalog.models import Integration

_numbers = count(1)


def make_application(
    group: Group, *integrations: Integration, name: str = "", **fields: Any
) -> Application:
    """Create an application that may reach these integrations, or all where none is given."""
    return Application.objects.create(
        name=name or f"application {next(_numbers)}",
        group=group,
        integrations=[integration.pk for integration in integrations],
        **fields,
    )


def key_of(
    application: Application | None,
    group: Group,
    scopes: Sequence[str] = ("select", "discover", "execute"),
    **fields: Any,
) -> tuple[ApiKey, Client]:
    """Create a key of the application that acts for the group's users; return its client, too."""
    fields.setdefault("acts_for_users", True)
    key, raw = create_key(
        by=None, name="backend", group=group, scopes=scopes, application=application, **fields
    )
    return key, Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})
