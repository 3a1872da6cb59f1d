"""Pegboard's catalogue as an MCP registry: the integrations that a caller may use.

Every entry has an MCP address of Pegboard's own: `/mcp/<integration>`, or `/mcp` where Pegboard
only describes the tools. So each call is checked against the caller's rights, and no command, host,
path or secret of the server behind it is disclosed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from acl.audit.recorder import record
from acl.rights.caller import Caller
from catalog.access.integration_readiness import IntegrationReadiness, readiness_of_callers
from catalog.lookups.detail_levels import readiness_parts, short_description
from catalog.models import Capability, Integration

NAMESPACE = "pegboard"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json"
_META = "io.modelcontextprotocol.registry/official"
_OWN_META = f"{NAMESPACE}/readiness"
_UNKNOWN_VERSION = "0.0.0"
_MOST_DESCRIPTION = 100  # maxLength in the registry's schema
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class ServersQuery:
    """Filters and cursor of the server list."""

    cursor: str = ""
    limit: int = 30
    search: str = ""
    updated_since: datetime | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class ServersPage:
    """A page of servers, and the cursor of the next one."""

    servers: tuple[dict[str, Any], ...]
    next_cursor: str = ""


def list_servers(*, caller: Caller, address: str, wanted: ServersQuery) -> ServersPage:
    """Return one page of servers, by name. `address` is the URL of `/mcp`."""
    found = _usable(caller).filter(slug__gt=wanted.cursor)
    if wanted.search:
        found = found.filter(Q(slug__icontains=wanted.search) | Q(title__icontains=wanted.search))
    if wanted.updated_since:
        found = found.filter(updated_at__gte=wanted.updated_since)
    if wanted.version not in ("", LATEST):
        found = found.filter(_has_version(wanted.version))
    rows = list(found.order_by("slug", "pk")[: wanted.limit + 1])
    shown = rows[: wanted.limit]
    cursor = shown[-1].slug if len(rows) > len(shown) else ""
    return ServersPage(_server_entries(caller, shown, address), cursor)


def versions_of(
    *, caller: Caller, address: str, name: str, version: str = ""
) -> tuple[dict[str, Any], ...]:
    """Return the installed version of a server, or nothing if it does not match."""
    found = _named(_usable(caller), name, version)
    return _server_entries(caller, list(found.order_by("slug", "pk")), address)


def _named(rows: QuerySet[Integration], name: str, version: str) -> QuerySet[Integration]:
    namespace, _, slug = name.rpartition("/")
    found = rows.filter(slug=slug if namespace == NAMESPACE else "")
    return found if version in ("", LATEST) else found.filter(_has_version(version))


def _usable(caller: Caller) -> QuerySet[Integration]:
    usable = Capability.objects.usable_by(caller).values("integration_id")
    return Integration.objects.filter(pk__in=usable).exclude(
        registry_status=Integration.RegistryStatus.DRAFT
    )


@transaction.atomic
def set_registry_status(*, by: User, name: str, version: str, status: str) -> Integration:
    """Make a server's entry a draft, active or deprecated; nobody's rights change.

    Raises Integration.DoesNotExist for a name or a version that is not installed.
    """
    found = _named(Integration.objects.select_for_update(of=("self",)), name, version)
    row = found.get()
    if row.registry_status != status:
        row.registry_status = status
        row.save(update_fields=["registry_status", "updated_at"])
        record(by=by, action=f"registry.{status}", target=row.slug)
    return row


def _has_version(version: str) -> Q:
    return Q(version=version) | Q(version="" if version == _UNKNOWN_VERSION else version)


def _server_entries(
    caller: Caller, rows: Sequence[Integration], address: str
) -> tuple[dict[str, Any], ...]:
    found = readiness_of_callers(caller, [row.pk for row in rows])
    # A right may be lost between the statements: such a server is left out.
    return tuple(_server_entry(row, found[row.pk], address) for row in rows if row.pk in found)


def _server_entry(
    row: Integration, readiness: IntegrationReadiness, address: str
) -> dict[str, Any]:
    published, updated = (moment.isoformat() for moment in (row.created_at, row.updated_at))
    server = {
        "$schema": SCHEMA,
        "name": f"{NAMESPACE}/{row.slug}",
        "title": row.title[:_MOST_DESCRIPTION],
        "description": short_description(row.description or row.title, _MOST_DESCRIPTION),
        "version": row.version or _UNKNOWN_VERSION,
        "remotes": [{"type": "streamable-http", "url": _address_of(row, readiness, address)}],
    }
    official = {"status": row.registry_status, "publishedAt": published, "updatedAt": updated}
    own = _readiness_parts(row, readiness)
    return {"server": server, "_meta": {_META: official | {"isLatest": True}, _OWN_META: own}}


def _address_of(row: Integration, readiness: IntegrationReadiness, address: str) -> str:
    return f"{address}/{row.slug}" if readiness.readiness.runs_here else address


def _readiness_parts(row: Integration, found: IntegrationReadiness) -> dict[str, Any]:
    """Return the state of the readiest tools, and the number of the caller's tools by state."""
    told = readiness_parts(found.readiness, integration=row.slug, full_name=row.title)
    return {**told, "tools": {state.value: count for state, count in found.tools}}
