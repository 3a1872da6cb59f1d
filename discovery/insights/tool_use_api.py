"""REST API of tool use, for admins.

A key sees its group's tools; staff see all, or those of the group that they name.
"""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.answer_serializer import serializer_for
from discovery.insights._lost_searches import list_lost_turns
from discovery.insights._tool_use import ToolUse, read_tool_use
from discovery.insights.api import read_scope
from discovery.turns.serializers import FiguresQuerySerializer


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
