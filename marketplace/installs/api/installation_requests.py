"""Helpers of the installation endpoints: parsing requests, mapping errors, building responses."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.problems import CONTENT_TYPE
from acl.http.refusals import Conflict, Refusals, Unprocessable
from acl.http.strict_serializer import ProblemSerializer, StrictSerializer
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.cell.allowed_hosts import NotAHostError
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from catalog.servers.secrets.secret_store import UnusableSecretError
from marketplace.installs import install_requests, integration_management
from marketplace.installs.api import installation_serializers as bodies
from marketplace.installs.command_confirmation import bounds_of
from marketplace.installs.install_preparation import proposed_hosts_of
from marketplace.installs.shown_connection import ConnectionLine, connection_lines
from marketplace.listings.listing_reviews import review_of
from marketplace.models import Installation, Listing

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
    install_requests.AlreadyInstalledError: _conflict,
    install_requests.InProgressError: _conflict,
    integration_management.NotReadyError: _conflict,
    install_requests.TargetChangedError: _conflict,
    install_requests.ToolsChangedError: _conflict,
    install_requests.OtherRequestError: lambda refused: Unprocessable(str(refused)),
    install_requests.ListingHeldError: lambda refused: exceptions.PermissionDenied(str(refused)),
    install_requests.NotPermittedError: lambda _: exceptions.PermissionDenied(_UNPERMITTED),
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
    return Response(bodies.InstallationSerializer(installation).data, status=status)


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
    return Response(bodies.PreviewSerializer(preview).data)


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
