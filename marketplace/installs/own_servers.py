"""Servers that people add for themselves, where an admin allows it: their calls only.

Such a server goes through the same steps and the same gate as any other. It has an owner, whom the
statement of rights reads: nobody else uses it or learns of it, except that admins see that it is
there and may switch it off.
"""

import secrets
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.visible_text.pieces import check_plain_name
from catalog.access.grants import grant
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.names import slug_for
from catalog.models import Integration
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.installs.integration_management import uninstall
from marketplace.installs.requests import start_install
from marketplace.models import Installation, OwnServerPolicy

MOST_OWN_SERVERS = 10
LONGEST_TITLE = 60
_TOKEN = "TOKEN"  # noqa: S105 - its name: a single secret is sent as a bearer token


class OwnServerRefusedError(Exception):
    """Refused server; the reason is in words."""


def are_own_servers_allowed() -> bool:
    """Return True if people may add servers of their own."""
    return OwnServerPolicy.objects.filter(allowed=True).exists()


@transaction.atomic
def allow_own_servers(*, by: User | None, allowed: bool) -> bool:
    """Allow or forbid people to add servers of their own; return True on a change.

    What they have stays: an admin switches single ones off.
    """
    row, _is_new = OwnServerPolicy.objects.select_for_update().get_or_create(pk=1)
    if row.allowed == allowed:
        return False
    OwnServerPolicy.objects.filter(pk=1).update(allowed=allowed)
    record(by=by, action=f"own_servers.{'allow' if allowed else 'forbid'}", target="own servers")
    return True


def list_own_servers(person: User) -> "QuerySet[Integration]":
    """Return the person's own servers by title."""
    return Integration.objects.filter(owner=person).order_by("title", "pk")


@transaction.atomic
def add_own_server(*, by: User, address: str, title: str = "", token: str = "") -> Installation:
    """Begin to install a remote MCP server for its owner alone; OwnServerRefusedError says why not.

    The name has a random end: whether somebody else has a server of that name cannot be told.
    """
    User.objects.select_for_update().get(pk=by.pk)  # two at once would both be the last
    if not are_own_servers_allowed():
        raise OwnServerRefusedError(_("People may not add servers of their own here."))
    if list_own_servers(by).count() >= MOST_OWN_SERVERS:
        most = {"most": MOST_OWN_SERVERS}
        raise OwnServerRefusedError(_("You have %(most)s servers. Remove one first.") % most)
    title = title.strip() or str(urlsplit(address).hostname or "")
    try:
        check_plain_name(title[:LONGEST_TITLE])
    except ValidationError as problem:
        raise OwnServerRefusedError(" ".join(problem.messages)) from None
    descriptor = IntegrationDescriptor(
        slug=f"{slug_for(title)[:38]}-{secrets.token_hex(4)}",
        kind="mcp",
        title=title[:LONGEST_TITLE],
        transport="http",
        endpoint=address,
        required_secrets=(_TOKEN,) if token else (),
        source_ref={"format": "own"},
    )
    try:
        installation = start_install(
            by=by, descriptor=descriptor, secrets={_TOKEN: token} if token else None, owner=by
        )
    except EndpointNotAllowedError as problem:
        raise OwnServerRefusedError(str(problem)) from None
    grant(by=by, target=installation.integration, user=by)
    return installation


@transaction.atomic
def remove_own_server(*, by: User, slug: str) -> bool:
    """Remove a server of one's own with its tools and secrets; return False if there is none."""
    row = list_own_servers(by).filter(slug=slug).first()
    if row is None:
        return False
    uninstall(by=by, integration=row)
    return True
