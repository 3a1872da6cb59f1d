"""REST API of turns: read one, start it, report its outcome."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.actor import note_subject
from acl.models import ApiKey
from acl.platform.answer_model import write_answer
from acl.web.api_views import SelectionRenderer, with_defaults
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import administers_all, note_look, principal_of
from acl.web.serializers import ProblemSerializer, StrictSerializer
from discovery.answer.selection import answer_selection
from discovery.calls.flow_check import ToldResult, TurnForgottenError, tell_results
from discovery.models import Turn
from discovery.turns import serializers as bodies
from discovery.turns._plan import Plan, PlanAnswer, Wanted, plan_record, plan_turn
from discovery.turns.outcome_windows import Window
from discovery.turns.outcomes import Verdict, report_outcome, verdict_of_score, verdict_of_status
from discovery.turns.records import TurnEnded, caller_of_turn, describe_turn, start_turn, turns_of
from discovery.turns.select_serializers import build_selection_request, request_example
from discovery.turns.serializers import (
    OutcomeWindowSerializer,
    PlanRequestSerializer,
    PlanSerializer,
)

ENDED = {(409, CONTENT_TYPE): ProblemSerializer}


class TurnView(APIView):
    """A turn."""

    required_scope = ApiKey.Scope.SELECT

    @extend_schema(
        operation_id="get_turn",
        tags=["Turns"],
        summary="Get a turn",
        responses={200: bodies.TurnSerializer},
    )
    def get(self, request: Request, turn_id: UUID) -> Response:
        """Return the turn's state, plan and outcome, without what its user may no longer use."""
        turn = _turn(request, turn_id, acting=False)
        if isinstance(principal_of(request), User):
            note_look(request, turn.user)
        return Response(_describe(turn))


class StartView(APIView):
    """The start of a turn."""

    required_scope = ApiKey.Scope.SELECT

    @extend_schema(
        operation_id="start_turn",
        tags=["Turns"],
        summary="Start a turn",
        request=None,
        responses={200: bodies.TurnSerializer, **ENDED},
    )
    def post(self, request: Request, turn_id: UUID) -> Response:
        """Mark a planned turn as executing. Repeating it changes nothing; 409 after the end."""
        StrictSerializer(data=request.data).is_valid(raise_exception=True)
        try:
            turn = start_turn(_turn(request, turn_id, acting=True))
        except TurnEnded as ended:
            raise Conflict(str(ended)) from ended
        return Response(_describe(turn))


class ResultsView(APIView):
    """Results of calls that the application carries out itself."""

    required_scope = ApiKey.Scope.SELECT

    @extend_schema(
        operation_id="tell_results",
        tags=["Turns"],
        summary="Tell what tools answered",
        request=bodies.TurnResultsRequestSerializer,
        responses={200: bodies.TurnResultsSerializer, **ENDED},
    )
    def post(self, request: Request, turn_id: UUID) -> Response:
        """Tell the results of calls that Pegboard did not carry out, for the guard on flows.

        They are digested and sealed, and forgotten when the turn ends. 409 where the turn keeps
        nothing: it has ended, or the guard is off.
        """
        serializer = bodies.TurnResultsRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        turn = _turn(request, turn_id, acting=True)
        results = [ToldResult(**told) for told in serializer.validated_data["results"]]
        try:
            told = tell_results(turn=turn, caller=caller_of_turn(turn), results=results)
        except TurnForgottenError as forgotten:
            raise Conflict(str(forgotten)) from None
        return Response(bodies.TurnResultsSerializer({"turn_id": turn.pk, "told": told}).data)


class OutcomeView(APIView):
    """The outcome of a turn."""

    required_scope = ApiKey.Scope.SELECT

    @extend_schema(
        operation_id="report_outcome",
        tags=["Turns"],
        summary="Report a turn's outcome",
        request=bodies.OutcomeRequestSerializer,
        responses={200: bodies.ReportedSerializer, **ENDED},
    )
    def post(self, request: Request, turn_id: UUID) -> Response:
        """Report the outcome once: later reports get 409 with the state.

        Names of capabilities that the user may not use are stored and otherwise ignored.
        """
        serializer = bodies.OutcomeRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body = serializer.validated_data
        try:
            reported = report_outcome(
                turn=_turn(request, turn_id, acting=True),
                verdict=_verdict(body),
                called=body.get("called", ()),
                note=body.get("note", ""),
            )
        except TurnEnded as ended:
            raise Conflict(str(ended)) from ended
        outcome, window = reported.outcome, window_for(request, reported.window)
        body = {
            "turn_id": reported.turn.pk,
            "state": reported.turn.state,
            "status": outcome.status,
            "score": outcome.score,
            "source": outcome.source,
            "called": reported.called,
            "window": window,
            "alert": reported.alert if window else None,
        }
        return Response(bodies.ReportedSerializer(body).data)


def window_for(request: Request, window: Window) -> Window | None:
    """Return the window, unless it covers other groups and the sender does not administer all."""
    return window if administers_all(request) or window.scope.group_id is not None else None


def _turn(request: Request, turn_id: UUID, *, acting: bool) -> Turn:
    turns = turns_of(principal_of(request), acting=acting)
    turns = turns.select_related("user", "group", "space", "outcome")
    turn = get_object_or_404(turns, pk=turn_id)
    note_subject(turn.user_id, turn.user.get_username())
    return turn


def _describe(turn: Turn) -> dict[str, Any]:
    return bodies.TurnSerializer(describe_turn(turn)).data


def _verdict(body: dict[str, Any]) -> Verdict | None:
    if "score" in body:
        return verdict_of_score(body["score"])
    if "taskSuccess" in body:
        return verdict_of_status("success" if body["taskSuccess"] else "failed")
    return verdict_of_status(body["status"]) if "status" in body else None


# POST plan: what a turn offers, what happens where discovery fails, and why.

OVERRIDES = ("failure_policy", "selection_mode", "kind")


class PlanView(APIView):
    """The turn planner."""

    required_scope = ApiKey.Scope.SELECT
    renderer_classes = (SelectionRenderer,)

    @extend_schema(
        operation_id="plan",
        tags=["Turns"],
        summary="Plan a turn",
        request=PlanRequestSerializer,
        responses={200: PlanSerializer},
        examples=[request_example(failure_policy="fail_closed")],
    )
    def post(self, request: Request) -> Response:
        """Return what fits the message, or everything that this caller may use where that is the
        mode or discovery fails. `fail_closed` offers nothing: the turn is `errored` then."""
        serializer = PlanRequestSerializer(data=with_defaults(request, PlanRequestSerializer))
        serializer.is_valid(raise_exception=True)
        # An application's own defaults are an admin's, like the deployment's settings.
        overrides = [name for name in OVERRIDES if name in request.data]
        if overrides and not settings.PEGBOARD_PLAN_OVERRIDES:
            raise ValidationError(
                {name: ["This is fixed by the deployment's settings."] for name in overrides}
            )
        values = serializer.validated_data
        options = _plan_options(request, values)
        plan = plan_turn(options)
        window = plan.course.window and window_for(request, plan.course.window)
        window_values = OutcomeWindowSerializer(window).data if window else None
        return Response(write_answer(_answer(options, plan, values)) | {"window": window_values})


def _answer(options: Wanted, plan: Plan, values: dict[str, Any]) -> PlanAnswer:
    answer = answer_selection(
        replace(plan.selection, turn_id=plan.turn_id),
        injection=plan.injection,
        provider=values["format"],
        detail=values["detail"],
        explain=values["explain"],
    )
    return PlanAnswer(
        answer=answer if values["include_prompt"] else replace(answer, prompt=""),
        decided=plan_record(options, plan),
        mode=plan.injection.choice,
        search_result=plan.injection.search_result,
        state=plan.state,
    )


def _plan_options(request: Request, values: dict[str, Any]) -> Wanted:
    return Wanted(
        asked=build_selection_request(request, values),
        policy=values.get("failure_policy"),
        mode=values.get("selection_mode"),
        provider=values["format"],
        context_window=values.get("context_window"),
    )
