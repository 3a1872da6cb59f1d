"""REST API of use and cost, for admins."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.serializers import Text, serializer_for
from discovery.insights.api import read_scope
from discovery.insights.use import CallUse, ToolUse, list_lost_turns, read_call_use, read_tool_use
from discovery.prices.model import list_prices, price_of
from discovery.turns.serializers import FiguresQuerySerializer

# REST API of use and cost, for admins: calls, errors, times and tokens by tool, person, group or
# application.
#
# A key sees its group's calls of its group's tools; staff see all, or those of the group they name.


class CallUseQuerySerializer(FiguresQuerySerializer):
    """A period, a group, what to sum up by, and the length of the list."""

    by = serializers.ChoiceField(("tool", "person", "group", "application"), default="tool")
    limit = serializers.IntegerField(default=50, min_value=1, max_value=1000)
    model = Text(
        max_length=100,
        default="",
        allow_blank=True,
        help_text="The name of a model, at whose price costs are told.",
    )


class CallUseItemSerializer(serializer_for(CallUse)):  # type: ignore[misc]  # a class, made there
    """Calls of a tool, a person, a group or an application."""

    cost = serializers.SerializerMethodField(
        help_text="US dollars of definitions, arguments and results; null without a price."
    )
    cost_with_all = serializers.SerializerMethodField(
        help_text="The same with the definitions of all tools; null without turns or a price."
    )

    def get_cost(self, use: CallUse) -> float | None:
        """Return the cost at the price."""
        return _plain(use.cost(self.context["price"]))

    def get_cost_with_all(self, use: CallUse) -> float | None:
        """Return the cost with all tools at the price."""
        return _plain(use.cost_with_all(self.context["price"]))


class CallUseSerializer(serializers.Serializer[Any]):
    """Use and cost in a period, most calls first."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    group = serializers.CharField(allow_null=True)
    by = serializers.CharField()
    priced_by = serializers.CharField(
        allow_null=True, help_text="The pattern of the price that fits `model`, or null."
    )
    items = CallUseItemSerializer(many=True)


class CallUseView(APIView):
    """Use and cost."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_use",
        tags=["Figures"],
        summary="Get use and cost",
        parameters=[CallUseQuerySerializer],
        responses={200: CallUseSerializer},
    )
    def get(self, request: Request) -> Response:
        """List calls, errors, times and tokens by tool, person, group or
        application, most calls first."""
        serializer = CallUseQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        scope, group = read_scope(request, values)
        items = read_call_use(scope, values["by"], most=values["limit"])
        price = price_of(values["model"], list_prices()) if values["model"] else None
        about = {"since": scope.since, "until": scope.until, "group": group, "by": values["by"]}
        answer = CallUseSerializer(
            {**about, "priced_by": price and price.pattern, "items": items},
            context={"price": price},
        )
        return Response(answer.data)


def _plain(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


# REST API of tool use, for admins.
#
# A key sees its group's tools; staff see all, or those of the group that they name.


class ToolUseQuerySerializer(FiguresQuerySerializer):
    """A period, a group, and the length of the lists."""

    limit = serializers.IntegerField(default=20, min_value=1, max_value=1000)


class ToolUseSerializer(serializer_for(ToolUse)):  # type: ignore[misc]  # a class, made there
    """Use of tools in a period."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    group = serializers.CharField(allow_null=True)
    lost_turns = serializers.IntegerField(
        help_text="Turns in which a search or the selection found nothing or failed."
    )


class ToolUseView(APIView):
    """Use of tools."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_tool_use",
        tags=["Figures"],
        summary="Get the use of tools",
        parameters=[ToolUseQuerySerializer],
        responses={200: ToolUseSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the tools called most, those selected but never called, those never called, and
        failing calls.

        Each list is sorted by count and cut at the limit.
        """
        serializer = ToolUseQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        scope, group = read_scope(request, values)
        use = read_tool_use(scope, most=values["limit"], most_never=values["limit"])
        lists = {name: getattr(use, name) for name in use.__slots__}
        about = {"since": scope.since, "until": scope.until, "group": group}
        lost = list_lost_turns(scope, most=0).count
        return Response(ToolUseSerializer({**about, **lists, "lost_turns": lost}).data)
