"""POST select: a message in, the few tools that fit and that this caller may use out."""

import time

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.strict_serializer import validated
from acl.models import ApiKey
from acl.platform.answer_model import write_answer
from discovery.answer.injection import inject
from discovery.answer.selection_answer import SelectAnswer, answer_selection
from discovery.api.select_serializers import (
    SelectInModeRequestSerializer,
    SelectionInModeSerializer,
    build_selection_request,
    request_example,
)
from discovery.select.selection_metrics import observe_selection
from discovery.turns.turn_records import select_for_turn


class SelectView(APIView):
    """The selector."""

    required_scope = ApiKey.Scope.SELECT

    @extend_schema(
        operation_id="select",
        tags=["Selection"],
        summary="Select the tools for a message",
        request=SelectInModeRequestSerializer,
        responses={200: SelectionInModeSerializer},
        examples=[request_example(format="openai")],
    )
    def post(self, request: Request) -> Response:
        """Return the capabilities that fit the message and that this caller may use."""
        wanted = validated(SelectInModeRequestSerializer, request.data)
        asked = build_selection_request(request, wanted)
        selection = select_for_turn(asked)
        observe_selection(selection)
        started = time.perf_counter()
        injection = inject(
            selection,
            asked,
            mode=wanted["mode"],
            provider=wanted["format"],
            context_window=wanted.get("context_window"),
            deferred=wanted["defer_loading"],
        )
        answer = answer_selection(
            selection,
            provider=wanted["format"],
            detail=wanted["detail"],
            explain=wanted["explain"],
            injection=injection,
            started=started,
        )
        chosen = SelectAnswer(answer, injection.choice, injection.search_result)
        return Response(write_answer(chosen))
