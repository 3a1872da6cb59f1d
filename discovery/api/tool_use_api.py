"""REST API of tool use, for admins.

A key sees its group's tools; staff see all, or those of the group that they name.
"""

from datetime import timedelta

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.delegation.key_holder import KeyHolder
from acl.http.request_callers import principal_of
from acl.models import ApiKey
from discovery.api import tool_use_serializers as bodies
from discovery.api.insights_api import group_asked, time_asked
from discovery.insights.insights_scope import InsightsScope
from discovery.insights.lost_searches import list_lost_turns
from discovery.insights.tool_use import read_tool_use

LONGEST = timedelta(days=92)


class ToolUseView(APIView):
    """Use of tools."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_tool_use",
        tags=["Figures"],
        summary="The use of tools",
        parameters=[bodies.ToolUseQuerySerializer],
        responses={200: bodies.ToolUseSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the tools called most, those selected but never called, those never called, and
        failing calls.

        Each list is sorted by count and cut at the limit.
        """
        serializer = bodies.ToolUseQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        since, until = time_asked(wanted, longest=LONGEST)
        group = group_asked(request, wanted["group"])
        scope = InsightsScope(
            since=since,
            until=until,
            group_id=group.pk if group else None,
            restricted=isinstance(principal_of(request), KeyHolder),
        )
        use = read_tool_use(scope, most=wanted["limit"], most_never=wanted["limit"])
        lists = {name: getattr(use, name) for name in use.__slots__}
        about = {"since": since, "until": until, "group": group and group.name}
        lost = list_lost_turns(scope, most=0).count
        return Response(bodies.ToolUseSerializer({**about, **lists, "lost_turns": lost}).data)
