"""Changes of access, as the page previews and saves them."""

import re
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from acl.rights.caller_lookup import Caller
from catalog.models import Capability


def look_at(client: Client, lines: str) -> Any:
    return client.post("/access/changes/", {"changes": lines})


def save(client: Client, lines: str) -> Any:
    """Preview the changes and press the button."""
    page = look_at(client, lines).content.decode()
    seen = re.search(r'name="seen" value="(\w+)"', page)
    assert seen
    return client.post("/access/changes/save/", {"changes": lines, "seen": seen[1]})


def may_use(user: User, group: Group, capability: Capability) -> bool:
    usable = Capability.objects.usable_by(Caller(user.pk, group.pk))
    return usable.filter(pk=capability.pk).exists()
