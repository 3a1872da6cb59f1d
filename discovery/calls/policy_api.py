"""REST API of what a group keeps of its calls, for admins."""

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import Number, StrictSerializer
from discovery.calls._policy import set_policy
from discovery.models import CallPolicy
from discovery.models.call import Content
from discovery.models.call_policy import LONGEST_DAYS

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
