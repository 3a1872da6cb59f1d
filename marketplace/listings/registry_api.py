"""The MCP registry API (v0.1), with the integrations that the caller may use.

Admins publish by adding and installing; here they change an entry's status.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.audit.recorder import record
from acl.rights.caller_lookup import Caller
from acl.web.api_views import AdminView, CallerSerializer, CallerView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import ProblemSerializer, StrictSerializer, Text
from catalog.access.integration_readiness import IntegrationReadiness, readiness_of_callers
from catalog.capabilities.detail_levels import readiness_parts, short_description
from catalog.models import Capability, Integration

# Pegboard's catalogue as an MCP registry: the integrations that a caller may use.
# Every entry has an MCP address of Pegboard's own: `/mcp/<integration>`, or `/mcp` where Pegboard
# only describes the tools. So each call is checked against the caller's rights, and no command,
# host, path or secret of the server behind it is disclosed.

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


def list_servers(*, caller: Caller, address: str, query: ServersQuery) -> ServersPage:
    """Return one page of servers, by name. `address` is the URL of `/mcp`."""
    matching = _usable(caller).filter(slug__gt=query.cursor)
    if query.search:
        matching = matching.filter(
            Q(slug__icontains=query.search) | Q(title__icontains=query.search)
        )
    if query.updated_since:
        matching = matching.filter(updated_at__gte=query.updated_since)
    if query.version not in ("", LATEST):
        matching = matching.filter(_has_version(query.version))
    rows = list(matching.order_by("slug", "pk")[: query.limit + 1])
    page_rows = rows[: query.limit]
    cursor = page_rows[-1].slug if len(rows) > len(page_rows) else ""
    return ServersPage(_server_entries(caller, page_rows, address), cursor)


def versions_of(
    *, caller: Caller, address: str, name: str, version: str = ""
) -> tuple[dict[str, Any], ...]:
    """Return the installed version of a server, or nothing if it does not match."""
    rows = _named(_usable(caller), name, version)
    return _server_entries(caller, list(rows.order_by("slug", "pk")), address)


def _named(rows: QuerySet[Integration], name: str, version: str) -> QuerySet[Integration]:
    namespace, _, slug = name.rpartition("/")
    matching = rows.filter(slug=slug if namespace == NAMESPACE else "")
    return matching if version in ("", LATEST) else matching.filter(_has_version(version))


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
    matching = _named(Integration.objects.select_for_update(of=("self",)), name, version)
    row = matching.get()
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
    readiness_by_row = readiness_of_callers(caller, [row.pk for row in rows])
    # A right may be lost between the statements: such a server is left out.
    return tuple(
        _server_entry(row, readiness_by_row[row.pk], address)
        for row in rows
        if row.pk in readiness_by_row
    )


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
        "remotes": [
            {
                "type": "streamable-http",
                "url": (f"{address}/{row.slug}" if readiness.readiness.runs_here else address),
            }
        ],
    }
    official = {"status": row.registry_status, "publishedAt": published, "updatedAt": updated}
    # The state of the readiest tools, and the number of the caller's tools by state.
    parts = readiness_parts(readiness.readiness, integration=row.slug, full_name=row.title)
    readiness_json = {**parts, "tools": {state.value: count for state, count in readiness.tools}}
    return {
        "server": server,
        "_meta": {_META: official | {"isLatest": True}, _OWN_META: readiness_json},
    }


_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}

_NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="`pegboard/gmail`, its slash as `%2F` or as it is.",
)


class ServersQuerySerializer(CallerSerializer):
    """Query parameters of the server list."""

    cursor = Text(
        max_length=100, default="", allow_blank=True, help_text="`nextCursor` of the previous page."
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=30)
    search = Text(max_length=200, default="", allow_blank=True, help_text="A part of the name.")
    updated_since = serializers.DateTimeField(required=False, default=None)
    version = Text(
        max_length=80, default="", allow_blank=True, help_text="`latest`, or one version."
    )


class RegistryEntrySerializer(serializers.Serializer[Any]):
    """A server.json with the registry's metadata."""

    server = serializers.DictField()
    _meta = serializers.DictField()


class RegistryMetadataSerializer(serializers.Serializer[Any]):
    """Number of entries on this page, and the cursor of the next page."""

    count = serializers.IntegerField()
    nextCursor = serializers.CharField(required=False)


class ServersSerializer(serializers.Serializer[Any]):
    """A page of servers."""

    servers = RegistryEntrySerializer(many=True)
    metadata = RegistryMetadataSerializer()


class ServersView(CallerView):
    """The list of servers."""

    @extend_schema(
        operation_id="list_registry_servers",
        tags=["Registry"],
        summary="List servers, as an MCP registry does",
        parameters=[ServersQuerySerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return integrations with at least one usable capability, by name."""
        caller, values = self.read_parameters(
            request, request.query_params.dict(), ServersQuerySerializer
        )
        page = list_servers(caller=caller, address=_address(request), query=ServersQuery(**values))
        return Response(_page(page.servers, page.next_cursor))


class VersionsView(CallerView):
    """Versions of one server."""

    @extend_schema(
        operation_id="list_registry_versions",
        tags=["Registry"],
        summary="List the versions of a server, as an MCP registry does",
        parameters=[_NAME, CallerSerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the installed version; 404 for unknown servers and for those of others."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        versions = versions_of(caller=caller, address=_address(request), name=name)
        if not versions:
            raise Http404
        return Response(_page(versions))


class VersionView(CallerView):
    """A version of a server."""

    @extend_schema(
        operation_id="get_registry_version",
        tags=["Registry"],
        summary="Get a version of a server, or the latest",
        parameters=[_NAME, CallerSerializer],
        responses={200: RegistryEntrySerializer},
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """Return a version by its number, or `latest`."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        versions = versions_of(caller=caller, address=_address(request), name=name, version=version)
        if not versions:
            raise Http404
        return Response(versions[0])


class ChangeStatusSerializer(StrictSerializer):
    """The new status of a server's entry."""

    status = serializers.ChoiceField(
        Integration.RegistryStatus.choices,
        help_text="`draft` is not listed, `deprecated` is listed as such. Rights stay as they are.",
    )


class StatusSerializer(serializers.Serializer[Any]):
    """The status of a server's entry."""

    status = serializers.CharField()


class StatusView(AdminView):
    """The status of a version of a server, for admins."""

    @extend_schema(
        operation_id="change_registry_status",
        tags=["Registry"],
        summary="Make a server's entry a draft, active or deprecated",
        parameters=[_NAME],
        request=ChangeStatusSerializer,
        responses={200: StatusSerializer, **_PROBLEMS},
    )
    def patch(self, request: Request, name: str, version: str) -> Response:
        """Change what the registry says of it; `latest` is the installed version."""
        serializer = ChangeStatusSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        by, status = installation_admin(request), serializer.validated_data["status"]
        try:
            row = set_registry_status(by=by, name=name, version=version, status=status)
        except Integration.DoesNotExist as unknown:
            raise Http404 from unknown
        return Response({"status": row.registry_status})


def _address(request: Request) -> str:
    return request.build_absolute_uri(reverse("mcp"))


def _page(servers: tuple[dict[str, Any], ...], cursor: str = "") -> dict[str, Any]:
    metadata = {"count": len(servers)} | ({"nextCursor": cursor} if cursor else {})
    return {"servers": servers, "metadata": metadata}
