"""REST API of quotas, and of what a group keeps of its calls, for admins."""

from typing import Any, TypeVar

from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import Unprocessable
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, Number, StrictSerializer, Text
from catalog.models import Capability
from discovery.calls._policy import set_policy
from discovery.calls.quotas import (
    QuotaRefusedError,
    count_use,
    delete_quota,
    list_quotas,
    set_quota,
)
from discovery.models import CallPolicy, Quota
from discovery.models.call import Content
from discovery.models.call_policy import LONGEST_DAYS

# REST API of quotas, for admins.

MOST_LIMIT = 10**12
Row = TypeVar("Row", bound=Model)


class SetQuotaSerializer(StrictSerializer):
    """A quota; what is left out does not narrow it."""

    user = Text(max_length=150, default="", allow_blank=True, help_text="The name of a user.")
    group = Text(max_length=150, default="", allow_blank=True, help_text="The name of a group.")
    tool = Text(max_length=64, default="", allow_blank=True, help_text="A full name.")
    each_person = Flag(default=False, help_text="Count for each person separately.")
    measure = serializers.ChoiceField(Quota.Measure.choices)
    soft = Number(min_value=0, max_value=MOST_LIMIT, default=None, allow_null=True)
    hard = Number(min_value=0, max_value=MOST_LIMIT, default=None, allow_null=True)


class QuotaSerializer(serializers.Serializer[Any]):
    """A quota with today's use."""

    id = serializers.IntegerField(source="quota.pk")
    text = serializers.CharField(source="quota.text", help_text="As refusals name it.")
    user = serializers.CharField(source="quota.user.username", default=None, allow_null=True)
    group = serializers.CharField(source="quota.group.name", default=None, allow_null=True)
    tool = serializers.CharField(source="quota.capability.full_name", default=None, allow_null=True)
    each_person = serializers.BooleanField(source="quota.each_person")
    measure = serializers.ChoiceField(Quota.Measure.choices, source="quota.measure")
    soft = serializers.IntegerField(source="quota.soft", allow_null=True)
    hard = serializers.IntegerField(source="quota.hard", allow_null=True)
    used = serializers.IntegerField(
        help_text="Today; of each person's quota, by whoever used most."
    )


class QuotaListSerializer(serializers.Serializer[Any]):
    """All quotas."""

    quotas = QuotaSerializer(many=True)


class QuotasView(AdminView):
    """Quotas: list and set."""

    @extend_schema(
        operation_id="list_quotas",
        tags=["Calls"],
        summary="List quotas",
        responses={200: QuotaListSerializer},
    )
    def get(self, request: Request) -> Response:
        """List all quotas with today's use."""
        uses = count_use(list(list_quotas()), user_id=None)
        return Response(QuotaListSerializer({"quotas": uses}).data)

    @extend_schema(
        operation_id="set_quota",
        tags=["Calls"],
        summary="Set a quota",
        request=SetQuotaSerializer,
        responses={200: QuotaSerializer},
    )
    def post(self, request: Request) -> Response:
        """Set a quota, in place of one with the same subject and measure."""
        body = SetQuotaSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        try:
            quota = set_quota(
                by=installation_admin(request),
                measure=values["measure"],
                soft=values["soft"],
                hard=values["hard"],
                user=_named(User.objects.filter(is_active=True), "user", "username", values),
                group=_named(Group.objects.all(), "group", "name", values),
                capability=_named(Capability.objects.all(), "tool", "full_name", values),
                each_person=values["each_person"],
            )
        except QuotaRefusedError as refused:
            raise Unprocessable(str(refused)) from None
        [use] = count_use([quota], user_id=None)
        return Response(QuotaSerializer(use).data)


class QuotaView(AdminView):
    """A quota."""

    @extend_schema(
        operation_id="delete_quota",
        tags=["Calls"],
        summary="Delete a quota",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the quota; calls are no longer limited by it."""
        delete_quota(by=installation_admin(request), quota=get_object_or_404(list_quotas(), pk=pk))
        return Response(status=204)


def _named(rows: QuerySet[Row], field: str, column: str, values: dict[str, Any]) -> Row | None:
    """Return the row that a field names, or None if it is empty."""
    name = values[field]
    if not name:
        return None
    row = rows.filter(**{column: name}).first()
    if row is None:
        raise ValidationError({field: ["There is none of this name."]})
    return row


# REST API of what a group keeps of its calls, for admins.

_NAMES = [(content.name.lower(), content.label) for content in Content]


class CallPolicySerializer(StrictSerializer):
    """Policy of a group on its calls."""

    content = serializers.ChoiceField(
        [name for name, _ in _NAMES],
        help_text="What is left of arguments and results an hour after a call's end.",
    )
    days = Number(
        min_value=1,
        max_value=LONGEST_DAYS,
        allow_null=True,
        help_text="Days that finished calls are kept; null as long as the deployment keeps them.",
    )


class CallPolicyView(AdminView):
    """Policy of a group."""

    @extend_schema(
        operation_id="get_call_policy",
        tags=["Calls"],
        summary="Get what a group keeps of its calls",
        responses={200: CallPolicySerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return the group's policy."""
        group = get_object_or_404(Group, pk=pk)
        return _answer(CallPolicy.objects.filter(group=group).first() or CallPolicy(group=group))

    @extend_schema(
        operation_id="set_call_policy",
        tags=["Calls"],
        summary="Set what a group keeps of its calls",
        request=CallPolicySerializer,
        responses={200: CallPolicySerializer},
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set the policy. It applies to calls that ended before, too; nothing comes back."""
        group = get_object_or_404(Group, pk=pk)
        body = CallPolicySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        content = Content[body.validated_data["content"].upper()]
        by, days = installation_admin(request), body.validated_data["days"]
        return _answer(set_policy(by=by, group=group, content=content, days=days))


def _answer(policy: CallPolicy) -> Response:
    return Response({"content": Content(policy.content).name.lower(), "days": policy.days})
