"""REST API of advice on choosing tools, for admins."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text
from discovery.advice.policies import list_policies, remove_policy, set_policy
from discovery.models import AdvicePolicy, ChatModel
from discovery.models.chat import LONGEST, LONGEST_NAME, SHORTEST

_GROUP_HELP = "Empty for all groups that have no own policy."


class SetAdvicePolicySerializer(StrictSerializer):
    """Advice of a chat model for a group, in place of what it has."""

    group = Text(max_length=150, default="", allow_blank=True, help_text=_GROUP_HELP)
    model = Text(max_length=LONGEST_NAME, help_text="The name of a chat model.")
    plans = serializers.BooleanField(default=True, help_text="It names the steps of a message.")
    orders = serializers.BooleanField(default=True, help_text="It puts the first tools in order.")
    milliseconds = serializers.IntegerField(
        default=2_000,
        min_value=SHORTEST,
        max_value=LONGEST,
        help_text="A selection waits so long for all advice, and then goes without.",
    )
    daily_tokens = serializers.IntegerField(default=500_000, min_value=1, max_value=10**12)


class AdvicePolicySerializer(serializers.Serializer[Any]):
    """Advice of a chat model for a group, and what it has cost today."""

    group = serializers.CharField(source="group.name", default="", help_text=_GROUP_HELP)
    model = serializers.CharField(source="model.name")
    plans = serializers.BooleanField()
    orders = serializers.BooleanField()
    milliseconds = serializers.IntegerField()
    daily_tokens = serializers.IntegerField()
    used_today = serializers.IntegerField(help_text="Tokens read and written since 00:00 UTC.")


class AdvicePolicyListSerializer(serializers.Serializer[Any]):
    """All advice."""

    on = serializers.BooleanField(help_text="False while PEGBOARD_ADVICE switches all of it off.")
    policies = AdvicePolicySerializer(many=True)


class AdviceView(AdminView):
    """Advice of chat models on choosing tools: list, set and remove."""

    @extend_schema(
        operation_id="list_advice",
        tags=["Playground"],
        summary="List the advice on choosing tools",
        responses={200: AdvicePolicyListSerializer},
    )
    def get(self, request: Request) -> Response:
        """List which chat models advise which groups' selections."""
        installation_admin(request)
        values = {"on": settings.PEGBOARD_ADVICE, "policies": list_policies()}
        return Response(AdvicePolicyListSerializer(values).data)

    @extend_schema(
        operation_id="set_advice",
        tags=["Playground"],
        summary="Set a group's advice on choosing tools",
        request=SetAdvicePolicySerializer,
        responses={200: AdvicePolicySerializer},
    )
    def post(self, request: Request) -> Response:
        """Set the advice of a group. Its messages then go to the model's provider."""
        admin = installation_admin(request)
        body = SetAdvicePolicySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        values["group"] = _group_named(values["group"])
        model = ChatModel.objects.filter(name=values["model"]).first()
        if model is None:
            raise ValidationError({"model": ["There is no chat model of this name."]})
        policy = set_policy(by=admin, **{**values, "model": model})
        return Response(AdvicePolicySerializer(policy).data)

    @extend_schema(
        operation_id="remove_advice",
        tags=["Playground"],
        summary="Remove a group's advice on choosing tools",
        parameters=[OpenApiParameter("group", str, description=_GROUP_HELP)],
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """Remove the advice of a group: its messages go to no model any more."""
        admin = installation_admin(request)
        group = _group_named(request.query_params.get("group", ""))
        policy = get_object_or_404(AdvicePolicy.objects.all(), group=group)
        remove_policy(by=admin, policy=policy)
        return Response(status=204)


def _group_named(name: str) -> Group | None:
    group = Group.objects.filter(name=name).first() if name else None
    if name and group is None:
        raise ValidationError({"group": [f"There is no group “{name}”."]})
    return group
