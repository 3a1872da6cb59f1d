"""REST endpoints of installations, for admins. `installation_steps` has the further steps."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import Space
from acl.web.api_views import AdminView
from acl.web.problems import refusals_as_problems
from acl.web.request_callers import installation_admin
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.openapi.api_choice import ApiChoice
from marketplace.installs import integration_management, requests
from marketplace.installs.api import installation_serializers as bodies
from marketplace.installs.api.installation_serializers import (
    IDEMPOTENCY,
    PROBLEMS,
    REFUSALS,
    all_installations,
    get_installation,
    installation_response,
    preview_response,
    read_idempotency_key,
    validate,
)
from marketplace.installs.command_confirmation import digest_of_target
from marketplace.listings.details import with_choice
from marketplace.models import Installation, Listing, ListingVersion

MOST_EVENTS = 500
MOST_INSTALLATIONS = 200
_ENDED = (
    *(Installation.State.READY, Installation.State.FAILED, Installation.State.CANCELLED),
    Installation.State.NEEDS_APPROVAL,
    Installation.State.NEEDS_SECRET,
)


class InstallationsView(AdminView):
    """Installations: list and start."""

    @extend_schema(
        operation_id="list_installations",
        tags=["Installations"],
        summary="List installations",
        responses={200: bodies.InstallationSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """Return installations, newest first."""
        rows = all_installations()[:MOST_INSTALLATIONS]
        return Response(bodies.InstallationSerializer(rows, many=True).data)

    @extend_schema(
        operation_id="start_installation",
        tags=["Installations"],
        summary="Install a listing",
        parameters=[IDEMPOTENCY],
        request=bodies.StartSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Start an installation, whose state and events show its progress. A program requires the
        permission to install programs, and `confirmed`. 409 if the address has changed since it was
        shown."""
        values = validate(bodies.StartSerializer, request.data)
        with refusals_as_problems(REFUSALS):
            installation = requests.start_install(
                by=installation_admin(request),
                descriptor=_descriptor(values),
                groups=_groups(values["groups"]),
                spaces=_spaces(values["spaces"]),
                secrets=values["secrets"],
                confirmed=values["confirmed"],
                network=requests.NetworkWish(tuple(values["hosts"]), whole=values["whole_network"]),
                idempotency_key=read_idempotency_key(request),
            )
        return installation_response(installation, status=202)


class PreviewView(AdminView):
    """Preview of an installation, for confirmation."""

    @extend_schema(
        operation_id="preview_installation",
        tags=["Installations"],
        summary="Preview an installation",
        parameters=[bodies.WhichSerializer],
        responses={200: bodies.PreviewSerializer, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the whole command or the address, with its digest."""
        values = validate(bodies.WhichSerializer, request.query_params.dict())
        listing, version = _listing(values)
        descriptor = integration_management.descriptor_of_listing(listing, version)
        digest = ""
        with refusals_as_problems(REFUSALS):
            if descriptor.transport == "stdio":
                digest = requests.check_program(descriptor).digest
            elif descriptor.transport:
                digest = digest_of_target(descriptor)
        return preview_response(listing, descriptor, digest)


class InstallationView(AdminView):
    """An installation, and the integration that it installed."""

    @extend_schema(
        operation_id="get_installation",
        tags=["Installations"],
        summary="Get an installation",
        responses={200: bodies.InstallationSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the installation with its version and files."""
        return installation_response(get_installation(pk))

    @extend_schema(
        operation_id="change_installation",
        tags=["Installations"],
        summary="Enable or disable an integration",
        request=bodies.ChangeSerializer,
        responses={200: bodies.InstallationSerializer, **PROBLEMS},
    )
    def patch(self, request: Request, pk: UUID) -> Response:
        """Enable or disable the integration, with effect from the next request."""
        values = validate(bodies.ChangeSerializer, request.data)
        installation = get_installation(pk)
        with refusals_as_problems(REFUSALS):
            integration_management.set_enabled(
                by=installation_admin(request),
                integration=installation.integration,
                enabled=values["enabled"],
            )
        return installation_response(get_installation(pk))

    @extend_schema(
        operation_id="uninstall",
        tags=["Installations"],
        summary="Uninstall",
        responses={204: None},
    )
    def delete(self, request: Request, pk: UUID) -> Response:
        """Remove the integration with its tools, rights, secrets, files and installations."""
        integration = get_installation(pk).integration
        integration_management.uninstall(by=installation_admin(request), integration=integration)
        return Response(status=204)


class EventsView(AdminView):
    """Progress events of an installation."""

    @extend_schema(
        operation_id="list_installation_events",
        tags=["Installations"],
        summary="Progress of an installation",
        parameters=[bodies.EventsQuerySerializer],
        responses={200: bodies.EventsSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the events after the id `after`. Poll with the last id until `is_over`."""
        after = validate(bodies.EventsQuerySerializer, request.query_params.dict())["after"]
        installation = get_installation(pk)
        progress = {
            "state": installation.state,
            "is_over": installation.state in _ENDED,
            "events": installation.events.filter(pk__gt=after).order_by("pk")[:MOST_EVENTS],
        }
        return Response(bodies.EventsSerializer(progress).data)


def _descriptor(values: dict[str, Any]) -> IntegrationDescriptor:
    """Return the listing's descriptor, with the operations that are wanted of an API."""
    listing, version = _listing(values)
    descriptor = integration_management.descriptor_of_listing(listing, version)
    if descriptor.transport != "openapi":
        return descriptor
    return with_choice(descriptor, ApiChoice.from_json(values.get("operations")))


def _listing(values: dict[str, Any]) -> tuple[Listing, str]:
    listing = Listing.objects.filter(slug=values["listing"], vanished_at=None).first()
    if listing is None:
        raise exceptions.ValidationError({"listing": ["There is nothing of that name."]})
    version = values["version"]
    if version and not ListingVersion.objects.filter(listing=listing, version=version).exists():
        raise exceptions.ValidationError({"version": ["The listing has no such version."]})
    return listing, version


def _groups(names: list[str]) -> list[Group]:
    groups = list(Group.objects.filter(name__in=names).order_by("name", "pk"))
    if missing := set(names) - {group.name for group in groups}:
        raise exceptions.ValidationError({"groups": [f"There is no group {sorted(missing)[0]!r}."]})
    return groups


def _spaces(places: list[dict[str, str]]) -> list[Space]:
    spaces = []
    for place in places:
        space = Space.objects.filter(group__name=place["group"], slug=place["space"]).first()
        if space is None:
            raise exceptions.ValidationError({"spaces": ["There is no such space."]})
        spaces.append(space)
    return spaces
