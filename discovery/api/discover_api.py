"""POST discover: what a prompt is told about capabilities, in three tiers."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.platform.answer_model import write_answer
from discovery.answer.injection import write_found
from discovery.answer.tiers.tier_options import TierOptions
from discovery.api.discover_serializers import DiscoverRequestSerializer, DiscoverySerializer
from discovery.api.select_request import asked_about, example
from discovery.select.selection_metrics import observe_selection
from discovery.turns.discover import discover
from discovery.turns.discover_answer import answer_discovery


class DiscoverView(APIView):
    """Discovery in tiers."""

    required_scope = ApiKey.Scope.DISCOVER

    @extend_schema(
        operation_id="discover",
        tags=["Selection"],
        summary="Discover capabilities in tiers",
        request=DiscoverRequestSerializer,
        responses={200: DiscoverySerializer},
        examples=[example(format="anthropic", tier2_tokens=1500)],
    )
    def post(self, request: Request) -> Response:
        """The caller's categories, a line about what fits the message, and the foremost in full,
        each within its budget; and the tools for what was found."""
        serializer = DiscoverRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        discovery = discover(
            asked_about(request, wanted),
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
