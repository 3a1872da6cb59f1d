"""Permissions of the meta-tools, by the scopes of a key or person."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from acl.web.authentication import HasScope, has_scope
from discovery.metatools.registry import META_TOOLS, MetaTool


def may_call(principal: Any, tool: MetaTool) -> bool:
    """Return True if the principal has the scope that the tool requires."""
    return has_scope(principal, tool.scope)


# The scope of any one tool is enough to read the list of all tools.
SCOPES_OF_TOOLS = tuple(sorted({tool.scope for tool in META_TOOLS.values()}))


class MayCallThis(HasScope):
    """Require the scope of the tool named in the URL. Unknown names are not secret."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        tool = META_TOOLS.get(view.kwargs["name"])
        if tool is None:
            return super().has_permission(request, view)
        return may_call(request.user, tool)
