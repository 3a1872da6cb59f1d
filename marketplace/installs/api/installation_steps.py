"""What is done to one installation by API, step by step."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.admin_api import AdminView, Conflict
from acl.http.request_callers import installation_admin
from marketplace.installs import install_requests, integration_management
from marketplace.installs.api import installation_serializers as bodies
from marketplace.installs.api.installation_requests import (
    IDEMPOTENCY,
    PROBLEMS,
    SHOWN,
    key_of,
    one,
    refusals_as_problems,
    told,
    valid,
)


class StepView(AdminView):
    """What a person can do to an installation that is not over, or did not go well."""

    def done(self, happened: bool, pk: UUID) -> Response:
        """How it stands now; 409 where it was not in a state for this."""
        if not happened:
            raise Conflict(f"It is {one(pk).get_state_display()}, so this cannot be done.")
        return told(one(pk), status=202)


class CancelView(StepView):
    """Stopping it."""

    @extend_schema(
        operation_id="cancel_installation",
        tags=["Installations"],
        summary="Cancel an installation",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Nothing of it stays."""
        by, installation = installation_admin(request), one(pk)
        return self.done(install_requests.cancel_install(by=by, installation=installation), pk)


class RetryView(StepView):
    """Trying again."""

    @extend_schema(
        operation_id="retry_installation",
        tags=["Installations"],
        summary="Try a failed installation again",
        request=bodies.RetrySerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """From the beginning, with bounds on what its package needs, where they are given."""
        wanted = valid(bodies.RetrySerializer, request.data)
        by, installation = installation_admin(request), one(pk)
        with refusals_as_problems():
            happened = install_requests.retry_install(
                by=by, installation=installation, constraints=wanted.get("constraints")
            )
        return self.done(happened, pk)


class ApproveView(StepView):
    """Letting it go on."""

    @extend_schema(
        operation_id="approve_installation",
        tags=["Installations"],
        summary="Approve what an installation waits with",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """The tools as they are told, and no others."""
        by, installation = installation_admin(request), one(pk)
        return self.done(install_requests.approve_install(by=by, installation=installation), pk)


class ConfirmView(StepView):
    """Confirming the version that was found."""

    @extend_schema(
        operation_id="confirm_installation",
        tags=["Installations"],
        summary="Confirm the version that was looked up",
        request=bodies.ConfirmSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """`confirmed` is the `command_digest` of the command that was shown."""
        wanted = valid(bodies.ConfirmSerializer, request.data)
        by, installation = installation_admin(request), one(pk)
        with refusals_as_problems():
            happened = install_requests.confirm_install(
                by=by, installation=installation, confirmed=wanted["confirmed"]
            )
        return self.done(happened, pk)


class UpdateView(AdminView):
    """The newer version."""

    @extend_schema(
        operation_id="preview_update",
        tags=["Installations"],
        summary="What an update would install",
        responses={200: bodies.PreviewSerializer, **PROBLEMS},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """404 where there is no newer version."""
        update = integration_management.pending_update(one(pk).integration)
        if update is None:
            raise exceptions.NotFound("There is no newer version.")
        shown = {name: getattr(update.descriptor, name) for name in SHOWN}
        preview = {"integration": update.descriptor.slug, "digest": update.digest, **shown}
        return Response(bodies.PreviewSerializer(preview).data)

    @extend_schema(
        operation_id="start_update",
        tags=["Installations"],
        summary="Update what is installed",
        parameters=[IDEMPOTENCY],
        request=bodies.UpdateSerializer,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Beside the version that serves, which goes on until the new one is ready. Where its tools
        differ it waits to be approved."""
        wanted = valid(bodies.UpdateSerializer, request.data)
        with refusals_as_problems():
            installation = integration_management.start_update(
                by=installation_admin(request),
                integration=one(pk).integration,
                confirmed=wanted["confirmed"],
                idempotency_key=key_of(request),
            )
        return told(installation, status=202)


class RollBackView(AdminView):
    """The version before."""

    @extend_schema(
        operation_id="roll_back",
        tags=["Installations"],
        summary="Take the last update back",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """To the version before this one, from its own files, with the tools that it had."""
        with refusals_as_problems():
            installation = integration_management.roll_back(
                by=installation_admin(request), integration=one(pk).integration
            )
        return told(installation, status=202)


class RepairView(AdminView):
    """The same version again."""

    @extend_schema(
        operation_id="repair",
        tags=["Installations"],
        summary="Put the installed version in place again",
        request=None,
        responses={202: bodies.InstallationSerializer, **PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """From the index, where its files were changed or lost: made of the very same ones."""
        with refusals_as_problems():
            installation = integration_management.repair(
                by=installation_admin(request), integration=one(pk).integration
            )
        return told(installation, status=202)
