"""Installing by API, for admins: in a session, or by an admin key that belongs to one. What is done
to one installation, step by step, is in `installation_steps.py`."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from acl.api.callers import installation_admin
from acl.models import Space
from marketplace.api import installation_serializers as bodies
from marketplace.api.admins import AdminView
from marketplace.api.installation_calls import (
    IDEMPOTENCY,
    PROBLEMS,
    SHOWN,
    all_installations,
    key_of,
    one,
    refusals_as_problems,
    told,
    valid,
)
from marketplace.confirming import digest_of_target
from marketplace.models import Installation, Listing, ListingVersion
from marketplace.services import installs, managing
from marketplace.services.listing_reviews import review_of

MOST_EVENTS = 500
MOST_INSTALLATIONS = 200
_OVER = (
    *(Installation.State.READY, Installation.State.FAILED, Installation.State.CANCELLED),
    Installation.State.NEEDS_APPROVAL,
)


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
        """Begins it; its state and its events tell how it goes. A program needs the permission to
        install programs, and `confirmed`. 409 where the address is not the one of `confirmed`."""
        wanted = valid(bodies.StartSerializer, request.data)
        with refusals_as_problems():
            installation = installs.start_install(
                by=installation_admin(request),
                descriptor=managing.descriptor_of_listing(*_listing(wanted)),
                groups=_groups(wanted["groups"]),
                spaces=_spaces(wanted["spaces"]),
                secrets=wanted["secrets"],
                confirmed=wanted["confirmed"],
                idempotency_key=key_of(request),
            )
        return told(installation, status=202)


class PreviewView(AdminView):
    """What has to be seen first."""

    @extend_schema(
        operation_id="preview_installation",
        tags=["Installations"],
        summary="What is to be confirmed before a listing is installed",
        parameters=[bodies.WhichSerializer],
        responses={200: bodies.PreviewSerializer, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """The whole command, or the address, with its digest."""
        wanted = valid(bodies.WhichSerializer, request.query_params.dict())
        listing, version = _listing(wanted)
        descriptor = managing.descriptor_of_listing(listing, version)
        digest = ""
        with refusals_as_problems():
            if descriptor.transport == "stdio":
                digest = installs.check_program(descriptor).digest
            elif descriptor.transport:
                digest = digest_of_target(descriptor)
        preview = {
            "integration": descriptor.slug,
            "digest": digest,
            "review": review_of(listing),
            **{name: getattr(descriptor, name) for name in SHOWN},
        }
        return Response(bodies.PreviewSerializer(preview).data)


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
        return told(one(pk))

    @extend_schema(
        operation_id="change_installation",
        tags=["Installations"],
        summary="Enable or disable what is installed",
        request=bodies.ChangeSerializer,
        responses={200: bodies.InstallationSerializer, **PROBLEMS},
    )
    def patch(self, request: Request, pk: UUID) -> Response:
        """Disabled, it serves nobody, from the next request on."""
        wanted = valid(bodies.ChangeSerializer, request.data)
        installation = one(pk)
        with refusals_as_problems():
            managing.set_enabled(
                by=installation_admin(request),
                integration=installation.integration,
                enabled=wanted["enabled"],
            )
        return told(one(pk))

    @extend_schema(
        operation_id="uninstall",
        tags=["Installations"],
        summary="Uninstall",
        responses={204: None},
    )
    def delete(self, request: Request, pk: UUID) -> Response:
        """Removes it with all its traces: tools, rights, secrets, files, and its installations."""
        integration = one(pk).integration
        managing.uninstall(by=installation_admin(request), integration=integration)
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
        after = valid(bodies.EventsQuerySerializer, request.query_params.dict())["after"]
        installation = one(pk)
        progress = {
            "state": installation.state,
            "is_over": installation.state in _OVER,
            "events": installation.events.filter(pk__gt=after).order_by("pk")[:MOST_EVENTS],
        }
        return Response(bodies.EventsSerializer(progress).data)


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
