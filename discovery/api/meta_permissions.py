"""Who may call which meta-tool."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from acl.api.permissions import HasScope, has_scope
from acl.models import ApiKey
from discovery.metatools.definition import MetaTool
from discovery.metatools.registry import META_TOOLS


def may_call(principal: Any, tool: MetaTool) -> bool:
    """A key that may select may look around as well, as with lookups."""
    if tool.scope == ApiKey.Scope.DISCOVER and has_scope(principal, ApiKey.Scope.SELECT):
        return True
    return has_scope(principal, tool.scope)


class MayCallSome(HasScope):
    """Whoever may call one of them may read about all."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return any(may_call(request.user, tool) for tool in META_TOOLS.values())


class MayCallThis(MayCallSome):
    """Asks for the scope of the tool that the address names; a name that no tool has is no
    secret."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        tool = META_TOOLS.get(view.kwargs["name"])
        if tool is None:
            return super().has_permission(request, view)
        return may_call(request.user, tool)
