"""REST API of the meta-tools, each with the scope that it requires of a key or person."""

from collections import defaultdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller
from acl.web.api_views import CallerSerializer, take_caller_names
from acl.web.authentication import HasScope, has_scope
from acl.web.problems import QueueFull, QuotaUsedUp, Refusals, refusals_as_problems
from acl.web.request_callers import caller_of
from catalog.token_counter import estimate_tokens
from discovery.calls import serializers as bodies
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from discovery.calls.quotas import QuotaExceededError
from discovery.mcp.answers.dispatch import call_meta_tool
from discovery.metatools import EXPLORING, META_TOOLS, MetaTool


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


class MetaToolsView(APIView):
    """The list of meta-tools."""

    required_scope = SCOPES_OF_TOOLS

    @extend_schema(
        operation_id="list_meta_tools",
        tags=["Meta-tools"],
        summary="List the meta-tools",
        responses={200: bodies.MetaToolsSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the meta-tools with their schemas and token costs."""
        tools = [_describe(tool) for tool in META_TOOLS.values()]
        exploring = [tool.name for tool in EXPLORING]
        tokens = sum(estimate_tokens(tool.as_tool()) for tool in EXPLORING)
        return Response({"tools": tools, "exploring": exploring, "exploring_tokens": tokens})


class MetaToolView(APIView):
    """A call of a meta-tool."""

    permission_classes = [MayCallThis]
    required_scope = SCOPES_OF_TOOLS  # MayCallThis narrows them to that of the tool

    @extend_schema(
        operation_id="call_meta_tool",
        tags=["Meta-tools"],
        summary="Call a meta-tool",
        request=bodies.MetaCallSerializer,
        responses={200: bodies.MetaAnswerSerializer},
        examples=[
            OpenApiExample(
                "A search for alice",
                value={"user": "alice", "arguments": {"query": "send an e-mail"}},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, name: str) -> Response:
        """Call a meta-tool. Its answer contains only what the caller may use; unknown names give
        404."""
        if name not in META_TOOLS:
            raise Http404
        acting = META_TOOLS[name].scope == ApiKey.Scope.EXECUTE
        caller, body = asked_for(request, bodies.MetaCallSerializer, acting=acting)
        with refusals_as_problems(REFUSALS):
            result = call_meta_tool(
                caller=caller,
                name=name,
                arguments=body["arguments"],
                turn_id=body.get("turn_id"),
            )
        return Response({"name": name, "result": result})


def _invalid_arguments(refused: ArgumentsRefusedError) -> exceptions.ValidationError:
    reasons = defaultdict[str, list[str]](list)
    for argument, reason in refused.defects:
        reasons[argument].append(reason)
    whole = reasons.get("")
    return exceptions.ValidationError({"arguments": whole or dict(reasons)})


REFUSALS: Refusals = {
    QuotaExceededError: lambda over: QuotaUsedUp(over.seconds, str(over)),
    TooManyWaitingError: lambda many: QueueFull(str(many)),
    ArgumentsRefusedError: _invalid_arguments,
    NotFoundError: lambda missing: exceptions.NotFound(str(missing)),
}


def asked_for(
    request: Request, form: type[CallerSerializer], *, acting: bool
) -> tuple[Caller, dict[str, Any]]:
    """Return caller and rest of the body; `acting` requires the right to act for others."""
    serializer = form(data=request.data)
    serializer.is_valid(raise_exception=True)
    values = dict(serializer.validated_data)
    return caller_of(request, **take_caller_names(values), acting=acting), values


def _describe(tool: MetaTool) -> dict[str, Any]:
    return {
        **tool.as_tool(),
        "title": tool.title,
        "scope": tool.scope,
        "side_effect": tool.side_effect,
        "tokens": estimate_tokens(tool.as_tool()),
    }
