"""REST API of approvals: list pending calls, approve and reject them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import person_of, principal_of
from acl.web.strict_serializer import ProblemSerializer
from discovery.calls import approval_serializers as bodies
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    check_eligibility,
    decided,
    reject_call,
    waiting,
)
from discovery.models import Call

DECIDED = {200: bodies.OneApprovalSerializer, (409, CONTENT_TYPE): ProblemSerializer}


class ApprovalsView(APIView):
    """Pending and decided calls."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_approvals",
        tags=["Approvals"],
        summary="List calls that need approval",
        parameters=[bodies.ApprovalsQuerySerializer],
        responses={200: bodies.ApprovalsSerializer},
    )
    def get(self, request: Request) -> Response:
        """List calls that need approval: an admin key sees those of its groups, staff all."""
        query = bodies.ApprovalsQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        values = query.validated_data
        calls = approvals_of(principal_of(request))
        calls = waiting(calls) if values["state"] == "waiting" else decided(calls)
        start = values["offset"]
        items = list(calls[start : start + values["limit"]])
        page = {"items": items, "total": calls.count()}
        context = _verdicts(request, items)
        return Response(bodies.ApprovalsSerializer(page, context=context).data)


class ApprovalView(APIView):
    """Details of a call for its approver."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_approval",
        tags=["Approvals"],
        summary="Get a call that needs approval",
        responses={200: bodies.OneApprovalSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the call with its arguments, and the digest that an approval must repeat."""
        return _answer(request, _find_call(request, pk))


class ApproveView(APIView):
    """Approval of a call."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="approve_call",
        tags=["Approvals"],
        summary="Approve a call",
        request=bodies.ApproveSerializer,
        responses=DECIDED,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Approve a pending call. The approver must not be the asker; a key acts for its owner.

        409 if the call is no longer pending, or differs from what was displayed.
        """
        return _decide(request, pk, bodies.ApproveSerializer, approve_call)


class RejectView(APIView):
    """Rejection of a call."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="reject_call",
        tags=["Approvals"],
        summary="Reject a call",
        request=bodies.RejectSerializer,
        responses=DECIDED,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Reject a pending call. The asker sees the note."""
        return _decide(request, pk, bodies.RejectSerializer, reject_call)


def _find_call(request: Request, pk: UUID) -> Call:
    return get_object_or_404(approvals_of(principal_of(request)), pk=pk)


def _decide(request: Request, pk: UUID, form: Any, decide: Any) -> Response:
    call = _find_call(request, pk)
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    try:
        call = decide(by=person_of(request), call=call, **body.validated_data)
    except MayNotDecideError as refused:
        raise PermissionDenied(str(refused)) from None
    except CannotDecideError as late:
        raise Conflict(str(late)) from None
    return _answer(request, call)


def _answer(request: Request, call: Call) -> Response:
    context = _verdicts(request, [call])
    return Response(bodies.OneApprovalSerializer(call, context=context).data)


def _verdicts(request: Request, calls: list[Call]) -> dict[str, Any]:
    """Return the serializer's context: who may decide about the pending calls."""
    pending = [call for call in calls if call.state == Call.State.WAITING]
    return {"verdicts": check_eligibility(by=person_of(request), calls=pending)}
