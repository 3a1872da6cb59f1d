"""REST endpoints of the steps of an installation: cancel, retry, approve, update, and others."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import Conflict, refusals_as_problems
from acl.web.request_callers import installation_admin
from marketplace.installs import integration_management, requests
from marketplace.installs.api import installation_serializers as bodies
from marketplace.installs.api.installation_serializers import (
    IDEMPOTENCY,
    PROBLEMS,
    REFUSALS,
    get_installation,
    installation_response,
    preview_response,
    read_idempotency_key,
    validate,
)
from marketplace.models import Installation


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
