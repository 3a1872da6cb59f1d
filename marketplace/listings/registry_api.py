"""The MCP registry API (v0.1), with the integrations that the caller may use.

Admins publish by adding and installing; here they change an entry's status.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
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
from rest_framework.views import APIView

from acl.audit.recorder import record
from acl.rights.caller_lookup import Caller
from acl.web.api_views import CALLER_NAMES, AdminView, CallerSerializer, CallerView
from acl.web.authentication import HasScope
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import ProblemSerializer, StrictSerializer, Text
from catalog.access.integration_readiness import IntegrationReadiness, readiness_of_callers
from catalog.capabilities.detail_levels import readiness_parts, short_description
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from discovery.mcp.server.runnable_tools import runnable_tools

# Pegboard's catalogue as an MCP registry: the integrations that a caller may use and that are
# served at an address of Pegboard's own, `/mcp/<integration>`. So each call is checked against the
# caller's rights, and no command, host, path or secret of the server behind it is disclosed.
# Clients such as VS Code read it from a page of another origin, some of them without a key.

OWN = "pegboard"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_META = "io.modelcontextprotocol.registry/official"
_OWN_META = f"{OWN}/readiness"
_UNKNOWN_VERSION = "0.0.0"
_MOST_DESCRIPTION = 100  # maxLength in the registry's schema
_DRAFT = Integration.RegistryStatus.DRAFT
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class ServersQuery:
    """Filters and cursor of the server list."""

    cursor: str = ""
    limit: int = 30
    search: str = ""
    updated_since: datetime | None = None
    version: str = ""
    include_deleted: bool = False


@dataclass(frozen=True, slots=True)
class ServersPage:
    """A page of servers, and the cursor of the next one."""

    servers: tuple[dict[str, Any], ...]
    next_cursor: str = ""


@dataclass(frozen=True, slots=True)
class RegistryReader:
    """The reader of the registry: `caller` is None for anyone, where an admin lets them.

    `address` is the URL of `/mcp`; entries are named by its host, as names are by a domain.
    """

    caller: Caller | None
    address: str

    @property
    def namespace(self) -> str:
        """Return the host with its parts reversed; our name for one that is no domain."""
        host = urlsplit(self.address).hostname or ""
        reverse_host = ".".join(reversed(host.split(".")))
        return reverse_host if re.fullmatch(r"[a-z0-9.-]+", reverse_host) else OWN

    def named(self, name: str) -> str:
        """Return the slug of an entry's name, or ""."""
        namespace, _, slug = name.rpartition("/")
        return slug if namespace in (self.namespace, OWN) else ""

    def integrations(self, *, include_deleted: bool = False) -> QuerySet[Integration]:
        """Return what the reader can connect to. What was taken out of the registry is deleted."""
        if self.caller is not None:
            rows = Integration.objects.filter(
                pk__in=runnable_tools(self.caller).values("integration_id")
            )
        else:
            called = Capability.objects.filter(
                integration__kind__in=Integration.CALLED, state=ReviewState.APPROVED, available=True
            ).exclude(ai_access=Capability.AIAccess.BLOCKED)
            rows = Integration.objects.filter(
                enabled=True,
                state=ReviewState.APPROVED,
                restricted=False,
                unconfirmed=False,
                pk__in=called.values("integration_id"),
            ).exclude(transport="")
        return rows if include_deleted else rows.exclude(registry_status=_DRAFT)


def list_servers(*, reader: RegistryReader, query: ServersQuery) -> ServersPage:
    """Return one page of servers, by name."""
    matching = reader.integrations(include_deleted=query.include_deleted)
    matching = matching.filter(slug__gt=query.cursor)
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
    return ServersPage(_server_entries(reader, page_rows), cursor)


def versions_of(
    *, reader: RegistryReader, name: str, version: str = ""
) -> tuple[dict[str, Any], ...]:
    """Return the installed version of a server, or nothing if it does not match."""
    rows = _of_version(reader.integrations().filter(slug=reader.named(name)), version)
    return _server_entries(reader, list(rows))


def _of_version(rows: QuerySet[Integration], version: str) -> QuerySet[Integration]:
    return rows if version in ("", LATEST) else rows.filter(_has_version(version))


@transaction.atomic
def set_registry_status(*, by: User, slug: str, version: str, status: str) -> Integration:
    """Make a server's entry a draft, active or deprecated; nobody's rights change.

    Raises Integration.DoesNotExist for a name or a version that is not installed.
    """
    rows = Integration.objects.select_for_update(of=("self",)).filter(slug=slug)
    row = _of_version(rows, version).get()
    if row.registry_status != status:
        row.registry_status = status
        row.save(update_fields=["registry_status", "updated_at"])
        record(by=by, action=f"registry.{status}", target=row.slug)
    return row


def _has_version(version: str) -> Q:
    return Q(version=version) | Q(version="" if version == _UNKNOWN_VERSION else version)


def _server_entries(
    reader: RegistryReader, rows: Sequence[Integration]
) -> tuple[dict[str, Any], ...]:
    if reader.caller is None:
        return tuple(_server_entry(reader, row, None) for row in rows)
    readiness_by_row = readiness_of_callers(reader.caller, [row.pk for row in rows])
    # A right may be lost between the statements: such a server is left out.
    return tuple(
        _server_entry(reader, row, readiness_by_row[row.pk])
        for row in rows
        if row.pk in readiness_by_row
    )


def _server_entry(
    reader: RegistryReader, row: Integration, readiness: IntegrationReadiness | None
) -> dict[str, Any]:
    published, updated = (moment.isoformat() for moment in (row.created_at, row.updated_at))
    server = {
        "$schema": SCHEMA,
        "name": f"{reader.namespace}/{row.slug}",
        "title": row.title[:_MOST_DESCRIPTION],
        "description": short_description(row.description or row.title, _MOST_DESCRIPTION),
        "version": row.version or _UNKNOWN_VERSION,
        "remotes": [{"type": "streamable-http", "url": f"{reader.address}/{row.slug}"}],
    }
    status = "deleted" if row.registry_status == _DRAFT else row.registry_status
    official = {
        "status": status,
        "statusChangedAt": updated,
        "isLatest": True,
        "publishedAt": published,
        "updatedAt": updated,
    }
    own_meta = {_OWN_META: _readiness_parts(row, readiness)} if readiness else {}
    return {"server": server, "_meta": {_META: official, **own_meta}}


def _readiness_parts(row: Integration, readiness: IntegrationReadiness) -> dict[str, Any]:
    """Return the state of the readiest tools, and the number of the caller's tools by state."""
    parts = readiness_parts(readiness.readiness, integration=row.slug, full_name=row.title)
    return {**parts, "tools": {state.value: count for state, count in readiness.tools}}


USUAL_SERVERS, MOST_SERVERS = 30, 100
_CUT = {"search": 200, "cursor": 100, "version": 80}
_NAMES = frozenset(CALLER_NAMES)
_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}

_NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="`example.pegboard/gmail` or `pegboard/gmail`, its slash as `%2F` or as it is.",
)


class ServersQuerySerializer(CallerSerializer):
    """Query parameters of the server list."""

    cursor = Text(
        max_length=100, default="", allow_blank=True, help_text="`nextCursor` of the previous page."
    )
    limit = serializers.IntegerField(min_value=1, max_value=MOST_SERVERS, default=USUAL_SERVERS)
    search = Text(max_length=200, default="", allow_blank=True, help_text="A part of the name.")
    updated_since = serializers.DateTimeField(required=False, default=None)
    version = Text(
        max_length=80, default="", allow_blank=True, help_text="`latest`, or one version."
    )
    include_deleted = serializers.BooleanField(
        default=False, help_text="Also entries that an admin took out, with the status `deleted`."
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


class MayRead(HasScope):
    """Ask for the scope, or for nothing where anyone may read and no key was sent."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        is_anyone = settings.PEGBOARD_REGISTRY_ANONYMOUS and request.user is None
        return bool(is_anyone) or super().has_permission(request, view)


class RegistryView(CallerView):
    """View of the registry that clients read, also from pages of other origins.

    No cookie is sent from there: who reads so is anyone, or has a key.
    """

    permission_classes = [MayRead]

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Return what a page of another origin may send."""
        return Response(status=204)

    def check_permissions(self, request: Request) -> None:
        """Check all but what a page may send, which every page may ask."""
        if request.method != "OPTIONS":
            super().check_permissions(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the answer, which pages of other origins may read."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Access-Control-Allow-Origin"] = "*"
        answer["Access-Control-Allow-Methods"] = "GET, OPTIONS"
        answer["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
        return answer

    def read_registry(
        self, request: Request, form: type[CallerSerializer]
    ) -> tuple[RegistryReader, dict[str, Any]]:
        """Return the reader and the parameters. What a registry need not know is ignored, and what
        is too much is cut, as clients expect of one."""
        address = request.build_absolute_uri(reverse("mcp"))
        sent, fields = request.query_params.dict(), set(form().get_fields())
        values = {name: part[: _CUT.get(name)] for name, part in sent.items() if name in fields}
        if "limit" in values:
            is_number = re.fullmatch(r"-?[0-9]{1,18}", values["limit"])
            most = int(values.pop("limit")) if is_number else USUAL_SERVERS
            values["limit"] = str(min(max(most, 1), MOST_SERVERS))
        principal: Any = request.user
        if principal is None:
            serializer = form(data=values)
            serializer.is_valid(raise_exception=True)
            anyones = {**serializer.validated_data}
            return RegistryReader(None, address), {
                name: part for name, part in anyones.items() if name not in _NAMES
            }
        caller, others = self.read_parameters(request, values, form)
        return RegistryReader(caller, address), others


class ServersView(RegistryView):
    """The list of servers."""

    @extend_schema(
        operation_id="list_registry_servers",
        tags=["Registry"],
        summary="List servers, as an MCP registry does",
        parameters=[ServersQuerySerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return integrations with at least one tool that the caller may run, by name."""
        reader, values = self.read_registry(request, ServersQuerySerializer)
        page = list_servers(reader=reader, query=ServersQuery(**values))
        return Response(_page(page.servers, page.next_cursor))


class VersionsView(RegistryView):
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
        reader, _ = self.read_registry(request, CallerSerializer)
        versions = versions_of(reader=reader, name=name)
        if not versions:
            raise Http404
        return Response(_page(versions))


class VersionView(RegistryView):
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
        reader, _ = self.read_registry(request, CallerSerializer)
        versions = versions_of(reader=reader, name=name, version=version)
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
            slug = RegistryReader(None, request.build_absolute_uri(reverse("mcp"))).named(name)
            row = set_registry_status(by=by, slug=slug, version=version, status=status)
        except Integration.DoesNotExist as unknown:
            raise Http404 from unknown
        return Response({"status": row.registry_status})


def _page(servers: tuple[dict[str, Any], ...], cursor: str = "") -> dict[str, Any]:
    metadata = {"count": len(servers)} | ({"nextCursor": cursor} if cursor else {})
    return {"servers": servers, "metadata": metadata}
