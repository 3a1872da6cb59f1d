"""Which tools are called, which never, and whose calls go wrong, for admins.

A key is told of what its group has; staff of everything, or of the group that they name.
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
from discovery.insights.insights_scope import Sight
from discovery.insights.lost_searches import lost_turns
from discovery.insights.tool_use import tool_use

LONGEST = timedelta(days=92)


class ToolUseView(APIView):
    """The use of tools."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_tool_use",
        tags=["Figures"],
        summary="The use of tools",
        parameters=[bodies.ToolUseQuerySerializer],
        responses={200: bodies.ToolUseSerializer},
    )
    def get(self, request: Request) -> Response:
        """Tools that were called most, selected most and never called, never called at all, and
        calls that failed or were refused; each list begins with the most, and is cut."""
        serializer = bodies.ToolUseQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        since, until = time_asked(wanted, longest=LONGEST)
        group = group_asked(request, wanted["group"])
        sight = Sight(
            since=since,
            until=until,
            group_id=group.pk if group else None,
            stranger=isinstance(principal_of(request), KeyHolder),
        )
        use = tool_use(sight, most=wanted["limit"], most_never=wanted["limit"])
        told = {name: getattr(use, name) for name in use.__slots__}
        about = {"since": since, "until": until, "group": group and group.name}
        lost = lost_turns(sight, most=0).count
        return Response(bodies.ToolUseSerializer({**about, **told, "lost_turns": lost}).data)
