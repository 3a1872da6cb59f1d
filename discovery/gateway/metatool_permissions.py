"""Who may call which meta-tool."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from acl.http.scopes import HasScope, has_scope
from discovery.metatools.all_metatools import META_TOOLS
from discovery.metatools.metatool import MetaTool


def may_call(principal: Any, tool: MetaTool) -> bool:
    """Tell whether the key or person has the scope that the tool asks for."""
    return has_scope(principal, tool.scope)


# Whoever may call one of the tools may read about all.
SCOPES_OF_TOOLS = tuple(sorted({tool.scope for tool in META_TOOLS.values()}))


class MayCallThis(HasScope):
    """Ask for the scope of the tool that the address names; a name that no tool has is no
    secret."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        tool = META_TOOLS.get(view.kwargs["name"])
        if tool is None:
            return super().has_permission(request, view)
        return may_call(request.user, tool)
