"""POST discover: what a prompt is told about capabilities, in three tiers."""

from dataclasses import asdict, replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from discovery.answer.formats.provider_formats import renamed
from discovery.answer.injection import Written, write_found
from discovery.answer.tiers.tier_options import TierOptions
from discovery.answer.token_budget import cost
from discovery.api.discover_serializers import DiscoverRequestSerializer, DiscoverySerializer
from discovery.api.select_request import asked_about, example
from discovery.select.selection_metrics import observe_selection
from discovery.turns.discover import Discovery, discover


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
        return Response(_body(discovery, written, wanted["format"]))


def _options(wanted: dict[str, Any]) -> TierOptions:
    """The deployment's, with what the request says otherwise."""
    names = TierOptions.__slots__
    return replace(
        TierOptions.of_the_deployment(),
        **{name: wanted[name] for name in names if name in wanted},
    )


def _body(discovery: Discovery, written: Written, provider: str) -> dict[str, Any]:
    texts = (discovery.summary.text, discovery.lines.text, discovery.details.text)
    tier0, tier1, tier2 = (cost(text) for text in texts)
    options, selection = discovery.options, discovery.selection
    waiting = {"search_result": written.search_result} if written.search_result else {}
    return {
        "tier0": _tier(texts[0], tier0, options.tier0_tokens) | _summary(discovery),
        "tier1": _tier(texts[1], tier1, options.tier1_tokens) | _lines(discovery),
        "tier2": _tier(texts[2], tier2, options.tier2_tokens) | _details(discovery),
        "context": discovery.context,
        "tokens": {
            "tier0": tier0,
            "tier1": tier1,
            "tier2": tier2,
            "total": cost(discovery.context),
            "tools": written.tokens,
            "all": selection.tokens_all,
        },
        "mode": asdict(discovery.mode),
        "tools": written.payload,
        "renamed": renamed(written.tools, provider),
        "degraded": bool(selection.degraded),
        "degraded_because": selection.degraded,
        "turn_id": selection.turn_id,
        "timings": {part: round(spent, 3) for part, spent in discovery.timings.items()},
        **waiting,
    }


def _tier(text: str, tokens: int, budget: int) -> dict[str, Any]:
    return {"text": text, "tokens": tokens, "budget": budget}


def _summary(discovery: Discovery) -> dict[str, Any]:
    categories = [
        {**asdict(one), "more": one.count - len(one.names)} for one in discovery.categories
    ]
    return {"categories": categories, "left_out": discovery.summary.left_out}


def _lines(discovery: Discovery) -> dict[str, Any]:
    return {
        "capabilities": [
            {
                "id": match.item.identifier,
                "full_name": match.item.full_name,
                "kind": match.item.kind,
                "display_name": match.item.display_name,
                "score": match.item.score,
                "reasons": match.item.reasons,
                "access": "asks first" if match.item.asks_first else "runs",
                "shown": match.item.full_name in discovery.lines.shown,
            }
            for match in discovery.matches
        ]
    }


def _details(discovery: Discovery) -> dict[str, Any]:
    return {
        "capabilities": [
            {name: value for name, value in asdict(detail).items() if name != "text"}
            for detail in discovery.details.shown
        ]
    }
