"""REST endpoints for reviewing definitions, for admins."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.admin_api import AdminView
from acl.http.problems import CONTENT_TYPE
from acl.http.refusals import Conflict
from acl.http.request_callers import installation_admin
from acl.http.strict_serializer import ProblemSerializer, StrictSerializer
from catalog.models import Integration
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from marketplace.integrations import review_decisions
from marketplace.integrations.api import review_serializers as bodies

MOST_SHOWN = 100
_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}


class ReviewView(AdminView):
    """Pending definitions of an integration."""

    @extend_schema(
        operation_id="review_integration",
        tags=["Integrations"],
        summary="Definitions that wait, beside what was approved",
        responses={200: bodies.ReviewSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the first hundred definitions; `waiting` counts all."""
        row = get_object_or_404(Integration, slug=slug)
        found = review_decisions.to_review(row, review_decisions.waiting_install(row))
        told = {
            "integration": row.slug,
            "waiting": found.waiting,
            "is_update": found.is_update,
            "seen": review_decisions.seen_of(row),
            "about": review_decisions.about_server(row),
            "definitions": [make() for make in found.changes[:MOST_SHOWN]],
        }
        return Response(bodies.ReviewSerializer(told).data)


class ApproveView(AdminView):
    """Approve definitions."""

    @extend_schema(
        operation_id="approve_definitions",
        tags=["Integrations"],
        summary="Approve definitions as they were seen",
        request=bodies.ApprovalSerializer,
        responses={200: bodies.ReviewedSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Approve definitions; 409 and no change if a definition has changed since it was seen."""
        row = get_object_or_404(Integration, slug=slug)
        wanted = _valid(bodies.ApprovalSerializer, request.data)
        by = installation_admin(request)
        with _refusals_as_problems():
            if wanted.get("seen"):
                decided = review_decisions.approve_all(by=by, integration=row, seen=wanted["seen"])
            else:
                seen = wanted["definitions"]
                decided = len(review_decisions.approve(by=by, integration=row, seen=seen))
        return _decided(row, decided)


class RejectView(AdminView):
    """Reject definitions."""

    @extend_schema(
        operation_id="reject_definitions",
        tags=["Integrations"],
        summary="Keep definitions out until their server says something else",
        request=bodies.RejectionSerializer,
        responses={200: bodies.ReviewedSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """409 where the server says something else by now."""
        row = get_object_or_404(Integration, slug=slug)
        seen = _valid(bodies.RejectionSerializer, request.data)["definitions"]
        with _refusals_as_problems():
            by = installation_admin(request)
            decided = len(review_decisions.keep_out(by=by, integration=row, seen=seen))
        return _decided(row, decided)


@contextmanager
def _refusals_as_problems() -> Iterator[None]:
    try:
        yield
    except ChangedSinceError:
        raise Conflict("This is not what waits now: look at it again.") from None
    except NotReadableError as problem:
        raise Conflict(str(problem)) from None


def _decided(row: Integration, decided: int) -> Response:
    waiting = review_decisions.to_review(row, review_decisions.waiting_install(row)).waiting
    return Response(bodies.ReviewedSerializer({"decided": decided, "waiting": waiting}).data)


def _valid(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    if len(checked.validated_data.get("definitions", ())) > bodies.MOST:
        raise exceptions.ValidationError({"definitions": [f"At most {bodies.MOST}."]})
    return dict(checked.validated_data)
