"""REST endpoint for the network of an integration's program, for admins."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import Flag, ProblemSerializer, StrictSerializer, Text
from catalog.models import Integration, OutgoingHost
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, MOST_HOSTS, NotAHostError
from catalog.servers.program_network import program_network, set_network

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}


class TriedSerializer(serializers.ModelSerializer[OutgoingHost]):
    """Attempts of the program to reach one host."""

    class Meta:
        model = OutgoingHost
        fields = ("host", "allowed", "times", "last_at")


class NetworkSerializer(serializers.Serializer[Any]):
    """Allowed hosts of a program, and its attempts."""

    whole_network = serializers.BooleanField(source="whole")
    hosts = serializers.ListField(child=serializers.CharField())
    refused = TriedSerializer(many=True, help_text="Hosts that it tried to reach but may not.")
    tried = TriedSerializer(many=True, help_text="Hosts that it reached.")


class ChangeNetworkSerializer(StrictSerializer):
    """New network of a program."""

    whole_network = Flag(default=False)
    hosts = serializers.ListField(
        child=Text(max_length=MOST_CHARACTERS),
        max_length=MOST_HOSTS,
        help_text="The complete list, such as `api.example.com`, `api.example.com:8443`, "
        "`*.example.com` or `*`.",
    )


class NetworkView(AdminView):
    """The network of an integration's program."""

    @extend_schema(
        operation_id="program_network",
        tags=["Integrations"],
        summary="Get the network access of a program",
        responses={200: NetworkSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the allowed hosts, and those that the program tried."""
        return _shown(_program_or_404(slug))

    @extend_schema(
        operation_id="change_program_network",
        tags=["Integrations"],
        summary="Set the network access of a program",
        request=ChangeNetworkSerializer,
        responses={200: NetworkSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replace the allowed hosts. The program is restarted before its next call."""
        row = _program_or_404(slug)
        serializer = ChangeNetworkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        try:
            by = installation_admin(request)
            set_network(by=by, integration=row, whole=data["whole_network"], hosts=data["hosts"])
        except NotAHostError as problem:
            raise exceptions.ValidationError({"hosts": [str(problem)]}) from None
        return _shown(row)


def _program_or_404(slug: str) -> Integration:
    return get_object_or_404(Integration, slug=slug, transport="stdio")


def _shown(row: Integration) -> Response:
    return Response(NetworkSerializer(program_network(row)).data)
