"""REST endpoint for an integration's limit of calls a minute, for admins."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import Number, ProblemSerializer, StrictSerializer
from catalog.models import Integration
from discovery.calls.quotas import MOST_A_MINUTE, call_limits, set_call_limit

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}


class CallLimitSerializer(serializers.Serializer[Any]):
    """An integration's limit."""

    calls_per_minute = serializers.IntegerField(help_text="0 is no limit.")


class ChangeCallLimitSerializer(StrictSerializer):
    """The new limit; 0 is none."""

    calls_per_minute = Number(min_value=0, max_value=MOST_A_MINUTE)


class CallLimitView(AdminView):
    """An integration's limit of calls a minute, of all callers together."""

    @extend_schema(
        operation_id="integration_call_limit",
        tags=["Integrations"],
        summary="Get an integration's limit of calls a minute",
        responses={200: CallLimitSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the limit."""
        row = get_object_or_404(Integration, slug=slug)
        return Response({"calls_per_minute": call_limits().get(row.pk, 0)})

    @extend_schema(
        operation_id="change_integration_call_limit",
        tags=["Integrations"],
        summary="Set an integration's limit of calls a minute",
        request=ChangeCallLimitSerializer,
        responses={200: CallLimitSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set or remove the limit. Beyond it calls get 429 with `Retry-After`, and are not run."""
        row, serializer = (
            get_object_or_404(Integration, slug=slug),
            ChangeCallLimitSerializer(data=request.data),
        )
        serializer.is_valid(raise_exception=True)
        a_minute = serializer.validated_data["calls_per_minute"]
        set_call_limit(by=installation_admin(request), integration=row, a_minute=a_minute)
        return Response({"calls_per_minute": a_minute})
