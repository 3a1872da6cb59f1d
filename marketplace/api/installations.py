"""Installing by API, for admins: in a session, or by an admin key that belongs to one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.api.problems import CONTENT_TYPE
from acl.api.serializers import ProblemSerializer, StrictSerializer
from acl.models import Space
from catalog.mcp_client.commands import CommandNotAllowedError
from catalog.outgoing.problems import EndpointNotAllowedError
from catalog.services.secrets import UnusableSecretError
from marketplace.api import installation_serializers as bodies
from marketplace.api.admins import AdminView, Conflict, person_who_installs
from marketplace.models import Installation, Listing, ListingVersion
from marketplace.services import installs, managing

MOST_EVENTS = 500
MOST_INSTALLATIONS = 200
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_OVER = (
    *(Installation.State.READY, Installation.State.FAILED, Installation.State.CANCELLED),
    Installation.State.NEEDS_APPROVAL,
)
_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409, 422)}
_IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key for the same request is the same installation, told again. With "
    "another request it is a 422; while the first is being answered, a 409.",
)


class Unprocessable(exceptions.APIException):
    """The request contradicts an earlier one, or what is allowed."""

    status_code = 422


class InstallationsView(AdminView):
    """All installations, and new ones."""

    @extend_schema(
        operation_id="list_installations",
        tags=["Installations"],
        summary="List installations",
        responses={200: bodies.InstallationSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        rows = _installations()[:MOST_INSTALLATIONS]
        return Response(bodies.InstallationSerializer(rows, many=True).data)

    @extend_schema(
        operation_id="start_installation",
        tags=["Installations"],
        summary="Install a listing",
        parameters=[_IDEMPOTENCY],
        request=bodies.StartSerializer,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Begins it; its state and its events tell how it goes. A program needs the permission to
        install programs, and `confirmed`."""
        wanted = _valid(bodies.StartSerializer, request.data)
        with refusals_as_problems():
            installation = installs.start_install(
                by=person_who_installs(request),
                descriptor=managing.descriptor_of_listing(*_listing(wanted)),
                groups=_groups(wanted["groups"]),
                spaces=_spaces(wanted["spaces"]),
                secrets=wanted["secrets"],
                confirmed=wanted["confirmed"],
                idempotency_key=_key(request),
            )
        return _told(installation, status=202)


class PreviewView(AdminView):
    """What has to be seen first."""

    @extend_schema(
        operation_id="preview_installation",
        tags=["Installations"],
        summary="What is to be confirmed before a listing is installed",
        parameters=[bodies.WhichSerializer],
        responses={200: bodies.PreviewSerializer, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """The whole command with its digest."""
        wanted = _valid(bodies.WhichSerializer, request.query_params.dict())
        descriptor = managing.descriptor_of_listing(*_listing(wanted))
        digest = ""
        with refusals_as_problems():
            if descriptor.transport == "stdio":
                digest = installs.check_program(descriptor).digest
        told = {
            "integration": descriptor.slug,
            "digest": digest,
            **{name: getattr(descriptor, name) for name in _SHOWN},
        }
        return Response(bodies.PreviewSerializer(told).data)


class InstallationView(AdminView):
    """One installation, and what it has installed."""

    @extend_schema(
        operation_id="get_installation",
        tags=["Installations"],
        summary="How an installation stands",
        responses={200: bodies.InstallationSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """With the version and the files that it is made of."""
        return _told(_one(pk))

    @extend_schema(
        operation_id="change_installation",
        tags=["Installations"],
        summary="Enable or disable what is installed",
        request=bodies.ChangeSerializer,
        responses={200: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def patch(self, request: Request, pk: UUID) -> Response:
        """Disabled, it serves nobody, from the next request on."""
        wanted = _valid(bodies.ChangeSerializer, request.data)
        installation = _one(pk)
        with refusals_as_problems():
            managing.set_enabled(
                by=person_who_installs(request),
                integration=installation.integration,
                enabled=wanted["enabled"],
            )
        return _told(_one(pk))

    @extend_schema(
        operation_id="uninstall",
        tags=["Installations"],
        summary="Uninstall",
        responses={204: None},
    )
    def delete(self, request: Request, pk: UUID) -> Response:
        """Removes it with all its traces: tools, rights, secrets, files, and its installations."""
        integration = _one(pk).integration
        managing.uninstall(by=person_who_installs(request), integration=integration)
        return Response(status=204)


class EventsView(AdminView):
    """The progress of one installation."""

    @extend_schema(
        operation_id="list_installation_events",
        tags=["Installations"],
        summary="Progress of an installation",
        parameters=[bodies.EventsQuerySerializer],
        responses={200: bodies.EventsSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """The lines after the one whose id is `after`: ask again with the last id, until it is
        over."""
        after = _valid(bodies.EventsQuerySerializer, request.query_params.dict())["after"]
        installation = _one(pk)
        told = {
            "state": installation.state,
            "is_over": installation.state in _OVER,
            "events": installation.events.filter(pk__gt=after).order_by("pk")[:MOST_EVENTS],
        }
        return Response(bodies.EventsSerializer(told).data)


class StepView(AdminView):
    """What a person can do to an installation that is not over, or did not go well."""

    def done(self, happened: bool, pk: UUID) -> Response:
        """How it stands now; 409 where it was not in a state for this."""
        if not happened:
            raise Conflict(f"It is {_one(pk).get_state_display()}, so this cannot be done.")
        return _told(_one(pk), status=202)


class CancelView(StepView):
    """Stopping it."""

    @extend_schema(
        operation_id="cancel_installation",
        tags=["Installations"],
        summary="Cancel an installation",
        request=None,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Nothing of it stays."""
        by, installation = person_who_installs(request), _one(pk)
        return self.done(installs.cancel_install(by=by, installation=installation), pk)


class RetryView(StepView):
    """Trying again."""

    @extend_schema(
        operation_id="retry_installation",
        tags=["Installations"],
        summary="Try a failed installation again",
        request=bodies.RetrySerializer,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """From the beginning, with bounds on what its package needs, where they are given."""
        wanted = _valid(bodies.RetrySerializer, request.data)
        by, installation = person_who_installs(request), _one(pk)
        with refusals_as_problems():
            happened = installs.retry_install(
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
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """The tools as they are told, and no others."""
        by, installation = person_who_installs(request), _one(pk)
        return self.done(installs.approve_install(by=by, installation=installation), pk)


class ConfirmView(StepView):
    """Confirming the version that was found."""

    @extend_schema(
        operation_id="confirm_installation",
        tags=["Installations"],
        summary="Confirm the version that was looked up",
        request=bodies.ConfirmSerializer,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """`confirmed` is the `command_digest` of the command that was shown."""
        wanted = _valid(bodies.ConfirmSerializer, request.data)
        by, installation = person_who_installs(request), _one(pk)
        with refusals_as_problems():
            happened = installs.confirm_install(
                by=by, installation=installation, confirmed=wanted["confirmed"]
            )
        return self.done(happened, pk)


class UpdateView(AdminView):
    """The newer version."""

    @extend_schema(
        operation_id="preview_update",
        tags=["Installations"],
        summary="What an update would install",
        responses={200: bodies.PreviewSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """404 where there is no newer version."""
        update = managing.pending_update(_one(pk).integration)
        if update is None:
            raise exceptions.NotFound("There is no newer version.")
        shown = {name: getattr(update.descriptor, name) for name in _SHOWN}
        told = {"integration": update.descriptor.slug, "digest": update.digest, **shown}
        return Response(bodies.PreviewSerializer(told).data)

    @extend_schema(
        operation_id="start_update",
        tags=["Installations"],
        summary="Update what is installed",
        parameters=[_IDEMPOTENCY],
        request=bodies.UpdateSerializer,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Beside the version that serves, which goes on until the new one is ready. Where its tools
        differ it waits to be approved."""
        wanted = _valid(bodies.UpdateSerializer, request.data)
        with refusals_as_problems():
            installation = managing.start_update(
                by=person_who_installs(request),
                integration=_one(pk).integration,
                confirmed=wanted["confirmed"],
                idempotency_key=_key(request),
            )
        return _told(installation, status=202)


class RollBackView(AdminView):
    """The version before."""

    @extend_schema(
        operation_id="roll_back",
        tags=["Installations"],
        summary="Take the last update back",
        request=None,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """To the version before this one, from its own files, with the tools that it had."""
        with refusals_as_problems():
            installation = managing.roll_back(
                by=person_who_installs(request), integration=_one(pk).integration
            )
        return _told(installation, status=202)


class RepairView(AdminView):
    """The same version again."""

    @extend_schema(
        operation_id="repair",
        tags=["Installations"],
        summary="Put the installed version in place again",
        request=None,
        responses={202: bodies.InstallationSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """From the index, where its files were changed or lost: made of the very same ones."""
        with refusals_as_problems():
            installation = managing.repair(
                by=person_who_installs(request), integration=_one(pk).integration
            )
        return _told(installation, status=202)


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """What the services refuse, as the statuses that clients know."""
    try:
        yield
    except (installs.AlreadyThereError, installs.InProgressError) as problem:
        raise Conflict(str(problem) or None) from problem
    except managing.NotReadyError as problem:
        raise Conflict(str(problem)) from problem
    except installs.OtherRequestError as problem:
        raise Unprocessable(str(problem)) from problem
    except installs.NotPermittedError as problem:
        words = "This takes the permission to install programs, and the digest of the command."
        raise exceptions.PermissionDenied(words) from problem
    except (CommandNotAllowedError, EndpointNotAllowedError) as problem:
        raise exceptions.ValidationError({"listing": [str(problem)]}) from problem
    except UnusableSecretError as problem:
        raise exceptions.ValidationError({"secrets": [str(problem)]}) from problem


def _installations() -> QuerySet[Installation]:
    return Installation.objects.select_related("integration", "by").order_by("-created_at", "-pk")


def _one(pk: UUID) -> Installation:
    return get_object_or_404(_installations(), public_id=pk)


def _told(installation: Installation, *, status: int = 200) -> Response:
    return Response(bodies.InstallationSerializer(installation).data, status=status)


def _valid(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def _key(request: Request) -> str:
    key = request.headers.get("Idempotency-Key", "")
    if key and not _KEY.fullmatch(key):
        reason = "It has 1 to 255 characters, without blanks."
        raise exceptions.ValidationError({"Idempotency-Key": [reason]})
    return key


def _listing(wanted: dict[str, Any]) -> tuple[Listing, str]:
    listing = Listing.objects.filter(slug=wanted["listing"], vanished_at=None).first()
    if listing is None:
        raise exceptions.ValidationError({"listing": ["There is none of that name."]})
    version = wanted["version"]
    if version and not ListingVersion.objects.filter(listing=listing, version=version).exists():
        raise exceptions.ValidationError({"version": ["The listing has no such version."]})
    return listing, version


def _groups(names: list[str]) -> list[Group]:
    groups = list(Group.objects.filter(name__in=names).order_by("name", "pk"))
    if missing := set(names) - {group.name for group in groups}:
        raise exceptions.ValidationError({"groups": [f"There is no group {sorted(missing)[0]!r}."]})
    return groups


def _spaces(places: list[dict[str, str]]) -> list[Space]:
    found = []
    for place in places:
        space = Space.objects.filter(group__name=place["group"], slug=place["space"]).first()
        if space is None:
            raise exceptions.ValidationError({"spaces": ["There is no such space."]})
        found.append(space)
    return found


_SHOWN = ("version", "transport", "endpoint", "command", "required_secrets")
