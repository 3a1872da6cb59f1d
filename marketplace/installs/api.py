"""REST endpoints of installations, for admins: beginning one, reading it, and its further steps."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import Space
from acl.web.api_views import AdminView
from acl.web.problems import Conflict, refusals_as_problems
from acl.web.request_callers import installation_admin
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.openapi.api_choice import ApiChoice
from marketplace.installs import integration_management, requests
from marketplace.installs import serializers as bodies
from marketplace.installs.confirmation import digest_of_target
from marketplace.installs.serializers import (
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
            names = values["groups"]
            groups = list(Group.objects.filter(name__in=names).order_by("name", "pk"))
            if missing := set(names) - {group.name for group in groups}:
                raise exceptions.ValidationError(
                    {"groups": [f"There is no group {sorted(missing)[0]!r}."]}
                )
            installation = requests.start_install(
                by=installation_admin(request),
                descriptor=_descriptor(values),
                groups=groups,
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


def _spaces(places: list[dict[str, str]]) -> list[Space]:
    spaces = []
    for place in places:
        space = Space.objects.filter(group__name=place["group"], slug=place["space"]).first()
        if space is None:
            raise exceptions.ValidationError({"spaces": ["There is no such space."]})
        spaces.append(space)
    return spaces


class StepView(AdminView):
    """Base view for steps of an installation that has not ended well yet."""

    def build_response(self, is_done: bool, pk: UUID) -> Response:
        """Return the installation, or 409 if it was not in a suitable state."""
        if not is_done:
            raise Conflict(
                f"It is {get_installation(pk).get_state_display()}, so this cannot be done."
            )
        return installation_response(get_installation(pk), status=202)


class CancelView(StepView):
    """Cancel an installation."""

    @extend_schema(
        operation_id="cancel_installation",
        tags=["Installations"],
        summary="Cancel an installation",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Cancel the installation and remove what it has written."""
        by, installation = installation_admin(request), get_installation(pk)
        return self.build_response(requests.cancel_install(by=by, installation=installation), pk)


class RetryView(StepView):
    """Retry an installation."""

    @extend_schema(
        operation_id="retry_installation",
        tags=["Installations"],
        summary="Try a failed installation again",
        request=bodies.RetrySerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Start over, optionally with bounds on the package's dependencies."""
        values = validate(bodies.RetrySerializer, request.data)
        by, installation = installation_admin(request), get_installation(pk)
        with refusals_as_problems(REFUSALS):
            is_done = requests.retry_install(
                by=by, installation=installation, constraints=values.get("constraints")
            )
        return self.build_response(is_done, pk)


class ApproveToolsView(StepView):
    """Approve an installation's tools."""

    @extend_schema(
        operation_id="approve_installation",
        tags=["Installations"],
        summary="Approve the tools that an installation waits with",
        request=bodies.ApproveToolsSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Approve exactly the tools that were seen; 409 if the installation lists others by now."""
        by, installation = installation_admin(request), get_installation(pk)
        if installation.state != Installation.State.NEEDS_APPROVAL:
            return self.build_response(False, pk)
        values = validate(bodies.ApproveToolsSerializer, request.data)
        with refusals_as_problems(REFUSALS):
            is_done = requests.approve_seen_install(
                by=by, installation=installation, digest=values["seen"]
            )
        return self.build_response(is_done, pk)


class ConfirmView(StepView):
    """Confirm the version that was found."""

    @extend_schema(
        operation_id="confirm_installation",
        tags=["Installations"],
        summary="Confirm the resolved version",
        request=bodies.ConfirmSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Confirm a command. `confirmed` is the `command_digest` that was shown."""
        values = validate(bodies.ConfirmSerializer, request.data)
        by, installation = installation_admin(request), get_installation(pk)
        with refusals_as_problems(REFUSALS):
            is_done = requests.confirm_install(
                by=by, installation=installation, confirmed=values["confirmed"]
            )
        return self.build_response(is_done, pk)


class UpdateView(AdminView):
    """Update an installed integration."""

    @extend_schema(
        operation_id="preview_update",
        tags=["Installations"],
        summary="Preview an update",
        responses={200: bodies.PreviewSerializer, **PROBLEMS},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Preview the update; 404 if there is no newer version."""
        update = integration_management.pending_update(get_installation(pk).integration)
        if update is None:
            raise exceptions.NotFound("There is no newer version.")
        return preview_response(update.listing, update.descriptor, update.digest, update.lines)

    @extend_schema(
        operation_id="start_update",
        tags=["Installations"],
        summary="Update an integration",
        parameters=[IDEMPOTENCY],
        request=bodies.UpdateSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Start the update. The current version stays in use until the new one is ready. An update
        with different tools waits for approval."""
        values = validate(bodies.UpdateSerializer, request.data)
        with refusals_as_problems(REFUSALS):
            installation = integration_management.start_update(
                by=installation_admin(request),
                integration=get_installation(pk).integration,
                confirmed=values["confirmed"],
                idempotency_key=read_idempotency_key(request),
            )
        return installation_response(installation, status=202)


class RollBackView(AdminView):
    """Roll back the last update."""

    @extend_schema(
        operation_id="roll_back",
        tags=["Installations"],
        summary="Roll back the last update",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Start a rollback to the previous version, with its own files and tools."""
        with refusals_as_problems(REFUSALS):
            installation = integration_management.roll_back(
                by=installation_admin(request), integration=get_installation(pk).integration
            )
        return installation_response(installation, status=202)


class RepairView(AdminView):
    """Repair an installed integration."""

    @extend_schema(
        operation_id="repair",
        tags=["Installations"],
        summary="Repair an integration",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Fetch the same files again, for example after they were changed or lost."""
        with refusals_as_problems(REFUSALS):
            installation = integration_management.repair(
                by=installation_admin(request), integration=get_installation(pk).integration
            )
        return installation_response(installation, status=202)
