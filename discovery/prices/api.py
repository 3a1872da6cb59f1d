"""REST API of prices of models, for admins."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text
from discovery.models import ModelPrice
from discovery.models.chat import LONGEST_PATTERN
from discovery.prices.model import PriceRefusedError, delete_price, list_prices, set_price


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
