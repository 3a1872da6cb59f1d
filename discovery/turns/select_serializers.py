"""Request and response bodies with a message, and the selection requests built from them."""

import time
from dataclasses import replace
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.models.application import LONGEST_NAME
from acl.platform.answer_model import write_answer
from acl.web.api_views import (
    CONVERSATION,
    SelectionRenderer,
    take_caller_names,
    with_defaults,
)
from acl.web.request_callers import caller_of
from acl.web.serializers import (
    Flag,
    Number,
    Share,
    StrictSerializer,
    Text,
    serializer_for,
    validated,
)
from catalog.capabilities.detail_levels import DETAILS
from catalog.capabilities.lookup_api import KINDS
from discovery.answer.formats.registry import FORMATS, NO_TOOLS, SEARCHING
from discovery.answer.injection import inject, write_found
from discovery.answer.modes import WANTED_MODES
from discovery.answer.selection import SelectAnswer, answer_selection
from discovery.answer.tiers import TierOptions
from discovery.select.selection import SelectRequest, observe_selection
from discovery.turns.discover import DiscoverAnswer, answer_discovery, discover
from discovery.turns.records import select_for_turn

MOST_HISTORY = 20
LARGEST_WINDOW = 100_000_000


class MessageSerializer(StrictSerializer):
    """A message and its sender."""

    message = Text(
        allow_blank=True,
        help_text="What the user wrote; empty for a picture alone. Of a long one its ends and its"
        " densest part are read.",
    )
    user = Text(
        required=False,
        allow_null=True,
        max_length=150,
        help_text="The user's name; defaults to the key's owner or the signed-in person.",
    )
    group = Text(
        required=False,
        allow_null=True,
        max_length=150,
        help_text="The group's name. A key acts in its own group only.",
    )
    space = Text(
        required=False,
        allow_null=True,
        max_length=60,
        help_text="The space's slug; defaults to the group's root.",
    )
    application = Text(
        required=False,
        allow_null=True,
        max_length=LONGEST_NAME,
        help_text="The chat application; defaults to the key's own, and a key of one names no "
        "other.",
    )
    conversation = Text(**CONVERSATION)
    history = serializers.ListField(
        child=Text(allow_blank=True),
        required=False,
        max_length=MOST_HISTORY,
        help_text="The conversation's last messages, oldest first.",
    )
    kind = serializers.ChoiceField(
        KINDS, default="any", help_text="`any` and `all` mean every kind."
    )
    client_executes = Flag(
        default=True,
        help_text="False if your application cannot carry out calls: what Pegboard only describes"
        " is not available to it then.",
    )
    use_graph = Flag(
        default=True,
        help_text="Whether relations raise scores and dependencies are added.",
    )
    format = serializers.ChoiceField(
        (*FORMATS, NO_TOOLS),
        default="mcp",
        help_text="The format of `tools`, which is null for `none`.",
    )


class SelectRequestSerializer(MessageSerializer):
    """A message, with the size and level of detail of its answer."""

    max_tools = Number(required=False, min_value=1, max_value=50)
    only_available = Flag(
        default=True,
        help_text="Leave out what could not be called now. Otherwise it comes last, and says why.",
    )
    detail = serializers.ChoiceField(
        DETAILS, default="full_schema", help_text="Level of detail of `selected`."
    )
    explain = Flag(default=False, help_text="Adds the shares of evidence to each result.")


class WindowSerializer(serializers.Serializer[Any]):
    """The context window of a model."""

    context_window = Number(
        required=False,
        min_value=1_000,
        max_value=LARGEST_WINDOW,
        help_text="The model's context window in tokens; defaults to the deployment's.",
    )


class RoomSerializer(WindowSerializer):
    """The context window of a model, and deferred loading of definitions by its provider."""

    defer_loading = Flag(
        default=False,
        help_text=f"Defer definitions until a search finds them: {', '.join(SEARCHING)} only.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["defer_loading"] and attrs["format"] not in SEARCHING:
            reason = f"Only with the formats {', '.join(SEARCHING)}."
            raise serializers.ValidationError({"defer_loading": [reason]})
        return attrs


class SelectInModeRequestSerializer(RoomSerializer, SelectRequestSerializer):
    """A message, and the mode in which the model gets the capabilities."""

    mode = serializers.ChoiceField(
        WANTED_MODES,
        default="selected",
        help_text="`auto` takes the first of `direct`, `compact_direct` and `discovery` that fits.",
    )


SelectionInModeSerializer = serializer_for(SelectAnswer)


def build_message_request(request: Request, body: dict[str, Any], **more: Any) -> SelectRequest:
    """Convert a validated `MessageSerializer`, for a caller that the request may act for."""
    caller = caller_of(request, **take_caller_names({**body}))
    return SelectRequest(
        message=body["message"],
        caller=caller,
        conversation=body["conversation"],
        history=tuple(body.get("history", ())),
        kind=body["kind"],
        use_graph=body["use_graph"],
        client_executes=body["client_executes"],
        **more,
    )


def build_selection_request(request: Request, body: dict[str, Any]) -> SelectRequest:
    """Convert a validated `SelectRequestSerializer`."""
    return build_message_request(
        request,
        body,
        max_tools=body.get("max_tools", settings.PEGBOARD_MAX_TOOLS),
        only_available=body["only_available"],
        only_connected=body["only_available"],
    )


def request_example(**options: Any) -> OpenApiExample:
    """Return an example request for the API documentation, with the call's further fields."""
    message = {"message": "mail the team that the release is out", "user": "alice"}
    return OpenApiExample("A message from alice", value=message | options, request_only=True)


# POST select: a message in, the few tools that fit and that this caller may use out.


class SelectView(APIView):
    """The selector."""

    required_scope = ApiKey.Scope.SELECT
    renderer_classes = (SelectionRenderer,)

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
        body = with_defaults(request, SelectInModeRequestSerializer)
        values = validated(SelectInModeRequestSerializer, body)
        select_request = build_selection_request(request, values)
        selection = select_for_turn(select_request)
        observe_selection(selection)
        started = time.perf_counter()
        injection = inject(
            selection,
            select_request,
            mode=values["mode"],
            provider=values["format"],
            context_window=values.get("context_window"),
            deferred=values["defer_loading"],
        )
        answer = answer_selection(
            selection,
            provider=values["format"],
            detail=values["detail"],
            explain=values["explain"],
            injection=injection,
            started=started,
        )
        chosen = SelectAnswer(answer, injection.choice, injection.search_result)
        return Response(write_answer(chosen))


# POST discover: the capabilities for a prompt, in three tiers.

MOST_TOKENS = 20_000
MOST_LINES, MOST_IN_FULL = 20, 5


def _budget(tier: int) -> Number:
    return Number(
        required=False,
        min_value=0,
        max_value=MOST_TOKENS,
        help_text=f"Maximum tokens of tier {tier}; defaults to the deployment's setting.",
    )


class DiscoverRequestSerializer(RoomSerializer, MessageSerializer):
    """A message, and the token budgets of its answer."""

    tier0_tokens = _budget(0)
    tier1_tokens = _budget(1)
    tier2_tokens = _budget(2)
    tier1_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_LINES,
        help_text="Maximum number of lines in tier 1.",
    )
    tier2_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_IN_FULL,
        help_text="Maximum number of full definitions in tier 2.",
    )
    relevance = Share(required=False, help_text="Minimum score of a capability with a line.")


DiscoverySerializer = serializer_for(DiscoverAnswer)


class DiscoverView(APIView):
    """Discovery in tiers."""

    required_scope = ApiKey.Scope.DISCOVER
    renderer_classes = (SelectionRenderer,)

    @extend_schema(
        operation_id="discover",
        tags=["Selection"],
        summary="Discover capabilities in tiers",
        request=DiscoverRequestSerializer,
        responses={200: DiscoverySerializer},
        examples=[request_example(format="anthropic", tier2_tokens=1500)],
    )
    def post(self, request: Request) -> Response:
        """The caller's categories, a line about what fits the message, and the foremost in full,
        each within its budget; and the tools for what was found."""
        serializer = DiscoverRequestSerializer(
            data=with_defaults(request, DiscoverRequestSerializer)
        )
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        # The deployment's, with what the request says otherwise.
        names = TierOptions.__slots__
        discovery = discover(
            build_message_request(request, values),
            options=replace(
                TierOptions.of_the_deployment(),
                **{name: values[name] for name in names if name in values},
            ),
            context_window=values.get("context_window"),
        )
        observe_selection(discovery.selection)
        rendered = write_found(
            discovery.found, provider=values["format"], deferred=values["defer_loading"]
        )
        answer = answer_discovery(discovery, rendered, provider=values["format"])
        return Response(write_answer(answer))
