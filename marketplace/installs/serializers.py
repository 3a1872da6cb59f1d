"""Serializers of the installation endpoints."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.problems import CONTENT_TYPE, Conflict, Refusals, Unprocessable
from acl.web.serializers import (
    Flag,
    Number,
    ProblemSerializer,
    StrictSerializer,
    Text,
    serializer_for,
)
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.openapi.api_choice import FIRST_LIMIT, LONGEST
from catalog.formats.openapi.api_choice import MOST as MOST_CHOSEN
from catalog.formats.secret_redaction import word_addresses
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, MOST_HOSTS, NotAHostError
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.secrets.store import UnusableSecretError
from marketplace.installs import integration_management, requests
from marketplace.installs.confirmation import ConnectionLine, bounds_of, connection_lines
from marketplace.installs.preparation import proposed_hosts_of
from marketplace.installs.store_step import tools_digest
from marketplace.listings.api import ListingReviewSerializer
from marketplace.listings.reviews import review_of
from marketplace.models import Installation, InstallationEvent, Listing

MOST = 100


class PlaceSerializer(StrictSerializer):
    """A space, by its group and slug."""

    group = Text(max_length=150)
    space = Text(max_length=60)


class WhichSerializer(StrictSerializer):
    """A listing, or one of its versions."""

    listing = Text(max_length=200)
    version = Text(max_length=80, required=False, default="")


class OperationsSerializer(StrictSerializer):
    """A choice among the operations of an API. By default the first hundred."""

    tags = serializers.ListField(child=Text(max_length=60), max_length=MOST, default=list)
    words = Text(max_length=LONGEST, required=False, default="", allow_blank=True)
    names = serializers.ListField(child=Text(max_length=100), max_length=MOST_CHOSEN, default=list)
    limit = Number(min_value=1, max_value=MOST_CHOSEN, default=FIRST_LIMIT)


class StartSerializer(WhichSerializer):
    """A new installation: the listing, who gets it, and its secrets."""

    groups = serializers.ListField(child=Text(max_length=150), max_length=MOST, default=list)
    spaces = serializers.ListField(child=PlaceSerializer(), max_length=MOST, default=list)
    secrets = serializers.DictField(
        child=serializers.CharField(max_length=16_384, trim_whitespace=False),
        default=dict,
        help_text="Values by name. They are stored encrypted and never returned.",
    )
    hosts = serializers.ListField(
        child=Text(max_length=MOST_CHARACTERS),
        max_length=MOST_HOSTS,
        default=list,
        help_text="Hosts that its program may reach from its cell (see the preview).",
    )
    whole_network = Flag(
        default=False, help_text="Whether its program may reach the machine's whole network."
    )
    operations = OperationsSerializer(
        required=False, help_text="Of an API: which of its operations are installed."
    )
    confirmed = Text(
        required=False,
        default="",
        max_length=64,
        help_text="The digest of the command or address that was shown (see the preview). Programs "
        "need it; without it, the address of a server is not compared.",
    )


class ConfirmSerializer(StrictSerializer):
    """Confirmation of a command."""

    confirmed = Text(max_length=64)


class ApproveToolsSerializer(StrictSerializer):
    """Approval of an installation's tools."""

    seen = Text(max_length=64, help_text="The `tools_digest` of the installation as it was seen.")


class RetrySerializer(StrictSerializer):
    """Options of a retry."""

    constraints = serializers.ListField(
        child=Text(max_length=200),
        max_length=200,
        required=False,
        help_text="Bounds on what its package needs, such as those that were `offered`.",
    )


class ChangeSerializer(StrictSerializer):
    """Settings of an installed integration that can be changed."""

    enabled = Flag()


class UpdateSerializer(StrictSerializer):
    """Confirmation of the newer version's command; empty for remote servers."""

    confirmed = Text(max_length=64, required=False, default="", allow_blank=True)


class EventsQuerySerializer(StrictSerializer):
    """Position in the list of events."""

    after = serializers.IntegerField(min_value=0, default=0)


class WordedField(serializers.CharField):
    """A text whose addresses are told without what makes them secrets."""

    def to_representation(self, value: Any) -> str:
        """Return the text, worded."""
        return word_addresses(str(value))


class PreviewSerializer(serializers.Serializer[Any]):
    """Preview of an installation, for confirmation."""

    integration = serializers.CharField()
    version = serializers.CharField()
    transport = serializers.CharField()
    endpoint = WordedField()
    command = serializers.ListField(
        child=WordedField(), help_text="All of it; secrets in addresses are redacted."
    )
    digest = serializers.CharField(
        help_text="Send it back as `confirmed`. Empty where nothing is started or reached, or "
        "the exact version of a program is not known: that is looked up first, and confirmed then."
    )
    connection = serializer_for(ConnectionLine)(
        many=True, help_text="All that the digest covers, as it is in use and as it would be."
    )
    required_secrets = serializers.ListField(child=serializers.CharField())
    constraints = serializers.ListField(
        child=serializers.CharField(),
        help_text="Bounds on what its package requires, with which it is known to work. They are "
        "part of what is confirmed.",
    )
    proposed_hosts = serializers.ListField(
        child=serializers.CharField(), help_text="Hosts that its program probably needs."
    )
    review = ListingReviewSerializer(help_text="The findings about the listing's text.")


class DefectSerializer(serializers.Serializer[Any]):
    """An unreadable part of a server's list, whose rest is used."""

    tool = serializers.CharField(help_text="Its name, or its place in the list.")
    field = serializers.CharField(help_text="Empty for the whole tool.")
    reason = serializers.CharField()


class InstallationSerializer(serializers.ModelSerializer[Installation]):
    """An installation with its state."""

    id = serializers.UUIDField(source="public_id")
    integration = serializers.CharField(source="integration.slug")
    enabled = serializers.BooleanField(source="integration.enabled")
    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    version = serializers.CharField()
    command = serializers.ListField(child=WordedField())
    constraints = serializers.ListField(child=serializers.CharField())
    offered = serializers.ListField(
        child=serializers.CharField(), help_text="Bounds that may help; see retry."
    )
    changes = serializers.ListField(
        child=serializers.DictField(),
        help_text="For an update: tools added, changed and removed, before and after.",
    )
    tools_digest = serializers.SerializerMethodField(
        help_text="Send it back as `seen` to approve the tools."
    )
    defects = DefectSerializer(
        many=True,
        source="integration.list_defects",
        help_text="What could not be read of the server's list of tools.",
    )
    packages = serializers.SerializerMethodField(
        help_text="Every file of the package: name, version, hash."
    )

    class Meta:
        model = Installation
        fields: tuple[str, ...] = (
            "id", "integration", "kind", "state", "reason", "message", "version", "command",
            "command_digest", "constraints", "offered", "changes", "tools_digest", "defects",
            "packages",
            "enabled", "by", "created_at", "updated_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_tools_digest(self, installation: Installation) -> str:
        """Return the digest of the tools that it lists now."""
        return tools_digest(installation.tools)

    def get_packages(self, installation: Installation) -> list[list[str]]:
        """Return the files as they were recorded when they were fetched."""
        return list(installation.package.get("artefacts", ()))


class EventSerializer(serializers.ModelSerializer[InstallationEvent]):
    """A progress event."""

    class Meta:
        model = InstallationEvent
        fields: tuple[str, ...] = ("id", "state", "message", "created_at")
        read_only_fields = fields


class EventsSerializer(serializers.Serializer[Any]):
    """Progress events, and whether more will follow."""

    state = serializers.CharField()
    is_over = serializers.BooleanField(help_text="True once the installation has ended.")
    events = EventSerializer(many=True)


# Helpers of the installation endpoints: parsing requests, mapping errors, building responses.

# Fields of a descriptor that a preview shows.
_PREVIEW_FIELDS = ("version", "transport", "endpoint", "command", "required_secrets")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409, 422)}
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key with the same request returns the same installation. With "
    "another request it is a 422; while the first is in progress, a 409.",
)


def _conflict(refused: Exception) -> Conflict:
    return Conflict(str(refused) or None)


def _invalid_listing(refused: Exception) -> exceptions.ValidationError:
    return exceptions.ValidationError({"listing": [str(refused)]})


_UNPERMITTED = "This needs the permission to install programs, and the digest of the command."
REFUSALS: Refusals = {
    requests.AlreadyInstalledError: _conflict,
    requests.InProgressError: _conflict,
    integration_management.NotReadyError: _conflict,
    requests.TargetChangedError: _conflict,
    requests.ToolsChangedError: _conflict,
    requests.OtherRequestError: lambda refused: Unprocessable(str(refused)),
    requests.ListingHeldError: lambda refused: exceptions.PermissionDenied(str(refused)),
    requests.NotPermittedError: lambda _: exceptions.PermissionDenied(_UNPERMITTED),
    CommandNotAllowedError: _invalid_listing,
    EndpointNotAllowedError: _invalid_listing,
    NotAHostError: lambda refused: exceptions.ValidationError({"hosts": [str(refused)]}),
    UnusableSecretError: lambda refused: exceptions.ValidationError({"secrets": [str(refused)]}),
}


def all_installations() -> QuerySet[Installation]:
    """Return all installations, newest first."""
    return Installation.objects.select_related("integration", "by").order_by("-created_at", "-pk")


def get_installation(pk: UUID) -> Installation:
    """Return the installation with this id, or raise 404."""
    return get_object_or_404(all_installations(), public_id=pk)


def installation_response(installation: Installation, *, status: int = 200) -> Response:
    """Build the response for an installation."""
    return Response(InstallationSerializer(installation).data, status=status)


def preview_response(
    listing: Listing,
    descriptor: IntegrationDescriptor,
    digest: str,
    lines: Sequence[ConnectionLine] = (),
) -> Response:
    """Build the response that shows what would be installed, with the digest to confirm."""
    bounds = bounds_of(descriptor)
    preview = {
        "integration": descriptor.slug,
        "digest": digest,
        "connection": lines or connection_lines(descriptor, bounds=bounds),
        "constraints": bounds,
        "proposed_hosts": proposed_hosts_of(listing, descriptor),
        "review": review_of(listing),
        **{name: getattr(descriptor, name) for name in _PREVIEW_FIELDS},
    }
    return Response(PreviewSerializer(preview).data)


def validate(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    """Validate the data and return it; 400 if it is invalid."""
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def read_idempotency_key(request: Request) -> str:
    """Return the idempotency key of the request, or ""."""
    key = request.headers.get("Idempotency-Key", "")
    if key and not _KEY.fullmatch(key):
        reason = "It must have 1 to 255 characters, without spaces."
        raise exceptions.ValidationError({"Idempotency-Key": [reason]})
    return key
