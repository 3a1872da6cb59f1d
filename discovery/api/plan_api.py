"""POST plan: what a turn offers, what happens where discovery fails, and why."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.platform.answer_model import write_answer
from discovery.answer.selection_answer import answer_selection
from discovery.api.select_serializers import build_selection_request, request_example
from discovery.api.turn_api import window_for
from discovery.api.turn_serializers import (
    OutcomeWindowSerializer,
    PlanRequestSerializer,
    PlanSerializer,
)
from discovery.turns.turn_plan import Plan, PlanAnswer, Wanted, plan_record, plan_turn

OVERRIDES = ("failure_policy", "selection_mode", "kind")


class PlanView(APIView):
    """The turn planner."""

    required_scope = ApiKey.Scope.SELECT

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
        serializer = PlanRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        _refuse_overrides(serializer.initial_data)
        asked = serializer.validated_data
        wanted = _plan_options(request, asked)
        plan = plan_turn(wanted)
        window = plan.course.window and window_for(request, plan.course.window)
        told = OutcomeWindowSerializer(window).data if window else None
        return Response(write_answer(_answer(wanted, plan, asked)) | {"window": told})


def _answer(wanted: Wanted, plan: Plan, asked: dict[str, Any]) -> PlanAnswer:
    answer = answer_selection(
        replace(plan.selection, turn_id=plan.turn_id),
        injection=plan.injection,
        provider=asked["format"],
        detail=asked["detail"],
        explain=asked["explain"],
    )
    return PlanAnswer(
        answer=answer if asked["include_prompt"] else replace(answer, prompt=""),
        decided=plan_record(wanted, plan),
        mode=plan.injection.choice,
        search_result=plan.injection.search_result,
        state=plan.state,
    )


def _plan_options(request: Request, asked: dict[str, Any]) -> Wanted:
    return Wanted(
        asked=build_selection_request(request, asked),
        policy=asked.get("failure_policy"),
        mode=asked.get("selection_mode"),
        provider=asked["format"],
        context_window=asked.get("context_window"),
    )


def _refuse_overrides(given: Any) -> None:
    named = [name for name in OVERRIDES if name in given]
    if named and not settings.PEGBOARD_PLAN_OVERRIDES:
        raise ValidationError(
            {name: ["This is fixed by the deployment's settings."] for name in named}
        )
