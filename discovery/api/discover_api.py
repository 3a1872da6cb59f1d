"""POST discover: the capabilities for a prompt, in three tiers."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.answer_serializer import serializer_for
from acl.http.strict_serializer import Number, Share
from acl.models import ApiKey
from acl.platform.answer_model import write_answer
from discovery.answer.injection import write_found
from discovery.answer.tiers.tier_options import TierOptions
from discovery.api.select_serializers import (
    MessageSerializer,
    RoomSerializer,
    build_message_request,
    request_example,
)
from discovery.select.selection_metrics import observe_selection
from discovery.turns.discover import discover
from discovery.turns.discover_answer import DiscoverAnswer, answer_discovery

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
        serializer = DiscoverRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        discovery = discover(
            build_message_request(request, wanted),
            options=_options(wanted),
            context_window=wanted.get("context_window"),
        )
        observe_selection(discovery.selection)
        written = write_found(
            discovery.found, provider=wanted["format"], deferred=wanted["defer_loading"]
        )
        answer = answer_discovery(discovery, written, provider=wanted["format"])
        return Response(write_answer(answer))


def _options(wanted: dict[str, Any]) -> TierOptions:
    """The deployment's, with what the request says otherwise."""
    names = TierOptions.__slots__
    return replace(
        TierOptions.of_the_deployment(),
        **{name: wanted[name] for name in names if name in wanted},
    )
