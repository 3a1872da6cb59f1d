"""REST API of calls: execute a capability, read, follow and cancel a call."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.platform.strict_json import write_json
from acl.web.problems import CONTENT_TYPE, Conflict, Unprocessable, refusals_as_problems
from acl.web.request_callers import person_of, principal_of
from acl.web.serializers import ProblemSerializer, StrictSerializer
from discovery.calls import serializers as bodies
from discovery.calls.execution import KeyUsedError, NeedsApprovalError, StillUnderWayError, execute
from discovery.calls.queries import TooLateError, cancel_call, find_call, follow_call
from discovery.calls.state import FLOW_REFUSED
from discovery.calls.view import Execution, describe_call
from discovery.mcp.metatool_api import REFUSALS, asked_for
from discovery.models import Call

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
ANSWERS = {200: bodies.ExecutionSerializer, 202: bodies.ExecutionSerializer}
PROBLEM = ProblemSerializer
EVENTS = "text/event-stream"


class ExecuteView(APIView):
    """Execution of a capability."""

    required_scope = ApiKey.Scope.EXECUTE

    @extend_schema(
        operation_id="execute",
        tags=["Calls"],
        summary="Call a capability",
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                description="The same key from the same sender for the same user returns the same "
                "call. With another body it is a 422; while the call is in progress, a 409.",
            )
        ],
        request=bodies.ExecuteRequestSerializer,
        responses={
            **ANSWERS,
            (403, CONTENT_TYPE): PROBLEM,
            (404, CONTENT_TYPE): PROBLEM,
            (409, CONTENT_TYPE): PROBLEM,
            (422, CONTENT_TYPE): PROBLEM,
            (429, CONTENT_TYPE): PROBLEM,
        },
    )
    def post(self, request: Request) -> Response:
        """Call a capability. 202 if it needs approval or takes longer.

        404 alike for unknown names and for tools that the user may not use; 409 if the definition
        changed since it was approved; 429 if too many of the user's calls are pending.
        """
        caller, body = asked_for(request, bodies.ExecuteRequestSerializer, acting=True)
        with refusals_as_problems(REFUSALS):
            try:
                key = request.headers.get("Idempotency-Key", "")
                if key and not _KEY.fullmatch(key):
                    reason = "At most 255 visible ASCII characters."
                    raise exceptions.ValidationError({"Idempotency-Key": [reason]})
                done = execute(
                    caller=caller,
                    full_name=body["name"],
                    arguments=body["arguments"],
                    turn_id=body.get("turn_id"),
                    conversation=body["conversation"],
                    idempotency_key=str(key),
                )
            except KeyUsedError as used:
                raise Unprocessable(str(used)) from None
            except (StillUnderWayError, NeedsApprovalError) as early:
                raise Conflict(str(early)) from None
        if done.reason == FLOW_REFUSED:
            raise exceptions.PermissionDenied(done.message)
        return _answer(done)


class CallView(APIView):
    """A call and its outcome."""

    required_scope = ApiKey.Scope.EXECUTE

    @extend_schema(
        operation_id="get_call",
        tags=["Calls"],
        summary="Get a call",
        parameters=[bodies.CallQuerySerializer],
        responses=ANSWERS,
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the call: 200 once it has ended, 202 while it is pending or running."""
        query = bodies.CallQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        call = _find_call(request, pk, query.validated_data["wait"])
        with refusals_as_problems(REFUSALS):
            return _answer(describe_call(call))


class CallEventsView(APIView):
    """Changes of a call."""

    required_scope = ApiKey.Scope.EXECUTE

    @extend_schema(
        operation_id="follow_call",
        tags=["Calls"],
        summary="Stream a call's changes until it ends",
        parameters=[bodies.CallEventsQuerySerializer],
        responses={
            (200, EVENTS): OpenApiResponse(
                OpenApiTypes.STR,
                description="Each change is an event `state`, with the data of `get_call`.",
            )
        },
    )
    def get(self, request: Request, pk: UUID) -> StreamingHttpResponse:
        """Stream server-sent events: the call's state, then each change.

        The stream ends with the call or after `wait` seconds; reconnect if the last status is
        pending.
        """
        query = bodies.CallEventsQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        call, seconds = _find_call(request, pk), query.validated_data["wait"]
        with refusals_as_problems(REFUSALS):
            # A refusal has a status code only before the stream begins.
            describe_call(call)
        states = follow_call(principal=principal_of(request), call=call, seconds=seconds)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingHttpResponse(_events(states), content_type=EVENTS, headers=headers)


class CancelCallView(APIView):
    """Cancellation of a call."""

    required_scope = ApiKey.Scope.EXECUTE

    @extend_schema(
        operation_id="cancel_call",
        tags=["Calls"],
        summary="Cancel a call",
        request=None,
        responses={200: bodies.ExecutionSerializer, (409, CONTENT_TYPE): PROBLEM},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Cancel a pending call. 409 once it has started: running calls cannot be stopped."""
        StrictSerializer(data=request.data).is_valid(raise_exception=True)
        try:
            call = cancel_call(by=person_of(request), call=_find_call(request, pk))
        except TooLateError as late:
            raise Conflict(str(late)) from None
        return _answer(describe_call(call))


def _find_call(request: Request, pk: UUID, wait_seconds: float = 0) -> Call:
    call = find_call(principal=principal_of(request), pk=pk, wait_seconds=wait_seconds)
    if call is None:
        raise exceptions.NotFound
    return call


def _events(states: Iterable[Call]) -> Iterator[str]:
    for call in states:
        answer = describe_call(call).as_answer()
        yield f"event: state\ndata: {write_json(answer, compact=False)}\n\n"


def _answer(done: Execution) -> Response:
    headers: dict[str, Any] = {"Location": f"/api/v1/calls/{done.call_id}"}
    return Response(
        done.as_answer(),
        status=202 if done.is_waiting else 200,
        headers=headers if done.is_waiting else None,
    )
