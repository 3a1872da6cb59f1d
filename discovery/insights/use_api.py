"""REST API of use and cost, and of models' prices, for admins."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text, serializer_for
from discovery.insights.api import read_scope
from discovery.insights.use import CallUse, ToolUse, list_lost_turns, read_call_use, read_tool_use
from discovery.models import ModelPrice
from discovery.models.chat import LONGEST_PATTERN
from discovery.prices.model import PriceRefusedError, delete_price, list_prices, price_of, set_price
from discovery.turns.serializers import FiguresQuerySerializer

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


class SetPriceSerializer(StrictSerializer):
    """Price in US dollars per million tokens."""

    model = Text(
        max_length=LONGEST_PATTERN,
        help_text="A model's name, or its beginning followed by `*`.",
    )
    input = serializers.DecimalField(max_digits=10, decimal_places=4, min_value=0)
    output = serializers.DecimalField(max_digits=10, decimal_places=4, min_value=0)
    noted_on = serializers.DateField(
        default=None, help_text="When you looked it up; today if left out."
    )
    source = Text(  # type: ignore[assignment]
        max_length=200, default="", allow_blank=True
    )


class PriceSerializer(serializers.Serializer[Any]):
    """Price of a model; `id` is null for one that is shipped."""

    id = serializers.IntegerField(source="pk", allow_null=True)
    model = serializers.CharField(source="pattern")
    input = serializers.FloatField(source="input_price")
    output = serializers.FloatField(source="output_price")
    noted_on = serializers.DateField()
    source = serializers.CharField()  # type: ignore[assignment]


class PriceListSerializer(serializers.Serializer[Any]):
    """All prices."""

    prices = PriceSerializer(many=True)


class PricesView(AdminView):
    """Prices of models: list and set."""

    @extend_schema(
        operation_id="list_prices",
        tags=["Figures"],
        summary="List prices of models",
        responses={200: PriceListSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the prices of models, an admin's in place of those that are shipped."""
        return Response(PriceListSerializer({"prices": list_prices()}).data)

    @extend_schema(
        operation_id="set_price",
        tags=["Figures"],
        summary="Set the price of a model",
        request=SetPriceSerializer,
        responses={200: PriceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Set a price, in place of one with the same pattern."""
        body = SetPriceSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        try:
            price = set_price(
                by=installation_admin(request),
                pattern=values["model"],
                input_price=values["input"],
                output_price=values["output"],
                noted_on=values["noted_on"],
                source=values["source"],
            )
        except PriceRefusedError as refused:
            raise ValidationError({"model": [str(refused)]}) from None
        return Response(PriceSerializer(price).data)


class PriceView(AdminView):
    """Price that an admin has set."""

    @extend_schema(
        operation_id="delete_price",
        tags=["Figures"],
        summary="Delete the price of a model",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the price; a shipped one of the same pattern holds again."""
        price = get_object_or_404(ModelPrice.objects.all(), pk=pk)
        delete_price(by=installation_admin(request), price=price)
        return Response(status=204)
