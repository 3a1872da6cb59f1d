"""REST endpoints for an admin's settings of single tools: use, words, effect and category."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import ProblemSerializer, StrictSerializer, Text
from catalog.formats.categories import canonical_category
from catalog.models import Capability
from catalog.registration.admin_corrections import ToolWordsRefused, change_tool

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}
ACCESS = ("execute", "propose", "blocked")
EFFECTS = ("read", "write", "delete")


class ToolSettingsSerializer(serializers.Serializer[Any]):
    """An admin's settings of one tool, for everybody who may use it."""

    full_name = serializers.CharField()
    access = serializers.CharField(
        source="ai_access",
        help_text="`execute`, `propose` (a person approves each call), or `blocked` (it is off).",
    )
    effect = serializers.CharField(source="side_effect", help_text="What it does to the world.")
    category = serializers.CharField()
    name = serializers.CharField(source="tool_name", help_text="Its name within its integration.")
    title = serializers.CharField(source="display_name")
    description = serializers.CharField()
    source_texts = serializers.DictField(
        child=serializers.CharField(),
        help_text="What its source says where an admin wrote something else: `full_name`, "
        "`display_name`, `description`.",
    )


class ChangeToolSettingsSerializer(StrictSerializer):
    """New settings of a tool; those that are left out stay."""

    access = serializers.ChoiceField(source="ai_access", choices=ACCESS, required=False)
    effect = serializers.ChoiceField(
        source="side_effect",
        choices=EFFECTS,
        required=False,
        help_text="The admin's word, which overrules the source's, now and later.",
    )
    category = Text(max_length=60, required=False)
    name = Text(
        max_length=63,
        required=False,
        allow_blank=True,
        help_text="Its name for models, within its integration, for tools of servers and APIs. "
        "Its server is called by its own. Empty: as its source says, for this and the next two.",
    )
    title = Text(max_length=200, required=False, allow_blank=True)
    description = Text(max_length=8192, required=False, allow_blank=True)

    def validate_category(self, value: str) -> str:
        """Normalize the category."""
        if not (category := canonical_category(value)):
            raise serializers.ValidationError("A category needs letters or digits.")
        return category


class ToolSettingsView(AdminView):
    """An admin's settings of one tool."""

    @extend_schema(
        operation_id="tool_settings",
        tags=["Integrations"],
        summary="Get an admin's settings of a tool",
        responses={200: ToolSettingsSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str, full_name: str) -> Response:
        """Return the settings."""
        tool = get_object_or_404(Capability, integration__slug=slug, full_name=full_name)
        return Response(ToolSettingsSerializer(tool).data)

    @extend_schema(
        operation_id="change_tool_settings",
        tags=["Integrations"],
        summary="Switch a tool off or on, rename or describe it, or set its effect or category",
        request=ChangeToolSettingsSerializer,
        responses={200: ToolSettingsSerializer, **_PROBLEMS},
    )
    def patch(self, request: Request, slug: str, full_name: str) -> Response:
        """Change the settings. They hold for everyone; rules and grants stay."""
        tool = get_object_or_404(Capability, integration__slug=slug, full_name=full_name)
        return change_settings(request, tool)


def change_settings(request: Request, tool: Capability) -> Response:
    """Change a tool's settings as the body says."""
    by = installation_admin(request)
    serializer = ChangeToolSettingsSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    try:
        changed = change_tool(by=by, pk=tool.pk, values=serializer.validated_data)
    except ToolWordsRefused as refused:
        raise serializers.ValidationError({refused.setting: [str(refused)]}) from refused
    return Response(ToolSettingsSerializer(changed).data)
