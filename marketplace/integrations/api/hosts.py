"""REST endpoint for the allowed hosts of one's own network."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import ProblemSerializer, StrictSerializer, Text
from catalog.models import PrivateHost
from catalog.servers.net.private_hosts import (
    MOST_CHARACTERS,
    HostRefusedError,
    allow_private_host,
    forget_private_host,
    list_private_hosts,
)

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403)}


class AllowedHostSerializer(serializers.ModelSerializer[PrivateHost]):
    """A host allowed by an admin."""

    host = serializers.CharField(source="__str__", help_text="With its port: `localhost:8205`.")
    by = serializers.CharField(source="by.username", default=None, allow_null=True)

    class Meta:
        model = PrivateHost
        fields = ("host", "by", "created_at")
        read_only_fields = fields


class AllowHostSerializer(StrictSerializer):
    """A host of one's own network, with its port."""

    host = Text(max_length=MOST_CHARACTERS, help_text="Such as `localhost:8205` or `[::1]:8080`.")


class AllowedHostsView(AdminView):
    """Hosts at private addresses that Pegboard may reach, beside those of its settings."""

    @extend_schema(
        operation_id="list_allowed_hosts",
        tags=["Integrations"],
        summary="List the allowed hosts of one's own network",
        responses={200: AllowedHostSerializer(many=True), **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the hosts that admins allowed."""
        installation_admin(request)
        return Response(AllowedHostSerializer(list_private_hosts(), many=True).data)

    @extend_schema(
        operation_id="allow_host",
        tags=["Integrations"],
        summary="Allow a host of one's own network",
        request=AllowHostSerializer,
        responses={200: AllowedHostSerializer, **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Allow a host at a port, also without TLS. Metadata services stay closed."""
        return Response(AllowedHostSerializer(_changed(request, allow_private_host)).data)

    @extend_schema(
        operation_id="close_host",
        tags=["Integrations"],
        summary="Close an allowed host again",
        parameters=[AllowHostSerializer],
        responses={204: None, **_PROBLEMS},
    )
    def delete(self, request: Request) -> Response:
        """Close a host again. One that was not allowed changes nothing."""
        _changed(request, forget_private_host)
        return Response(status=204)


def _changed(request: Request, change: Any) -> Any:
    by = installation_admin(request)
    is_body = request.method != "DELETE"
    data = request.data if is_body else request.query_params.dict()
    serializer = AllowHostSerializer(data=data)
    serializer.is_valid(raise_exception=True)
    try:
        return change(by=by, text=serializer.validated_data["host"])
    except HostRefusedError as refused:
        raise serializers.ValidationError({"host": [str(refused)]}) from refused
