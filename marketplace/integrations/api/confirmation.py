"""REST endpoint for confirming imported integrations, for admins."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.answer_serializer import serializer_for
from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import installation_admin
from acl.web.strict_serializer import ProblemSerializer, StrictSerializer, Text
from catalog.models import Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.installs.api.installation_serializers import WordedField
from marketplace.installs.requests import NotPermittedError
from marketplace.installs.shown_connection import ConnectionLine
from marketplace.integrations._import_confirmation import (
    OtherTargetError,
    confirm_integration,
    target_to_confirm,
)

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}


class TargetSerializer(serializers.Serializer[Any]):
    """Target of an integration: its address, or the program to start."""

    integration = serializers.CharField()
    confirmed = serializers.BooleanField(help_text="Whether an admin has confirmed it.")
    transport = serializers.CharField()
    endpoint = WordedField()
    command = serializers.ListField(child=WordedField())
    required_secrets = serializers.ListField(child=serializers.CharField())
    headers = serializers.DictField(child=WordedField())
    came_from = serializers.CharField(help_text="The source that declared it.")
    connection = serializer_for(ConnectionLine)(
        many=True, help_text="All that the digest covers, by its place."
    )
    digest = serializers.CharField(help_text="Digest of this target. Send it back to confirm it.")


class ConfirmationSerializer(StrictSerializer):
    """Digest of the target that was reviewed."""

    digest = Text(max_length=64)


class ConfirmImportView(AdminView):
    """Target of an integration: look up and confirm."""

    @extend_schema(
        operation_id="integration_target",
        tags=["Integrations"],
        summary="Get the address or command of an integration",
        responses={200: TargetSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the whole target, for review before the confirmation."""
        return Response(_shown(get_object_or_404(Integration, slug=slug)))

    @extend_schema(
        operation_id="confirm_integration",
        tags=["Integrations"],
        summary="Confirm an imported integration",
        request=ConfirmationSerializer,
        responses={200: TargetSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Confirm the target; 409 if it is confirmed already, or has changed."""
        row = get_object_or_404(Integration, slug=slug)
        serializer = ConfirmationSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        digest = serializer.validated_data["digest"]
        try:
            by = installation_admin(request)
            if not confirm_integration(by=by, integration=row, confirmed=digest):
                raise Conflict("It is already confirmed.")
        except OtherTargetError:
            raise Conflict("The target has changed. Look it up again.") from None
        except NotPermittedError:
            raise exceptions.PermissionDenied(
                "You are not allowed to start programs on this machine."
            ) from None
        except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
            raise exceptions.ValidationError({"digest": [str(refused)]}) from None
        row.refresh_from_db()
        return Response(_shown(row))


def _shown(row: Integration) -> dict[str, Any]:
    values = {"integration": row.slug, "confirmed": not row.unconfirmed}
    return dict(TargetSerializer({**values, **asdict(target_to_confirm(row))}).data)
