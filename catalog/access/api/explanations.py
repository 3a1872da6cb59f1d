"""API of explanations: why a caller may use something, all they may use, and who may use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as rest
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller
from acl.rights.delegation.authority import KeyHolder
from acl.rights.past import MomentUnknown, parse_moment, rights_at
from acl.web.api_views import CALLER_NAMES
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import (
    caller_in_question,
    is_admin,
    named_application,
    own_group,
    principal_of,
)
from acl.web.serializers import ProblemSerializer
from catalog.access.api import access_serializers as serializers
from catalog.access.explanation import (
    Explanation,
    explain,
    explain_own,
    list_holders,
    list_reach,
)
from catalog.access.group_scope import capabilities_of
from catalog.models import Capability

NOT_FOUND = (404, CONTENT_TYPE)


# People may ask about themselves, keys about the people they act for, admins about others.
ASKING = (ApiKey.Scope.DISCOVER, ApiKey.Scope.ADMIN)


class ExplainView(APIView):
    """The explanation of an access decision."""

    required_scope = ASKING

    @extend_schema(
        operation_id="explain_access",
        tags=["Access"],
        summary="Explain why a caller may or may not use a capability",
        parameters=[serializers.ExplainQuerySerializer],
        responses={200: serializers.ExplanationSerializer, NOT_FOUND: ProblemSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return the deciding rule, grant or default, and everything else that was considered.

        404 if the capability does not exist or the caller may not know of it.
        """
        query = _read(request, serializers.ExplainQuerySerializer)
        with _at(query):
            explanation = _explain_for(request, _caller(request, query), query["capability"])
        if explanation is None:
            raise Http404
        return Response(serializers.ExplanationSerializer(explanation).data)


class ReachView(APIView):
    """All capabilities of a caller."""

    required_scope = ASKING

    @extend_schema(
        operation_id="list_reach",
        tags=["Access"],
        summary="List what a caller may use, and why",
        parameters=[serializers.ReachQuerySerializer],
        responses={200: serializers.ReachSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of the caller's capabilities, by full name."""
        query = _read(request, serializers.ReachQuerySerializer)
        with _at(query):
            caller = _caller(request, query)
            reach = list_reach(caller=caller, words=query["query"], page=query["page"])
        return Response(serializers.ReachSerializer(reach).data)


class HoldersView(APIView):
    """The holders of a capability."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_holders",
        tags=["Access"],
        summary="List who may use a capability, where, and why",
        parameters=[serializers.HoldersQuerySerializer],
        responses={200: serializers.HoldersSerializer, NOT_FOUND: ProblemSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of holders, by group, space and name. A key sees its own group only."""
        query = _read(request, serializers.HoldersQuerySerializer)
        with _at(query):
            capabilities = Capability.objects.select_related("integration")
            group = own_group(request, query["group"])
            if group is not None:
                capabilities = capabilities.filter(pk__in=capabilities_of(group).values("pk"))
            capability = capabilities.filter(full_name=query["capability"]).first()
            chosen = _group(group, query["group"])
            if capability is None:
                raise Http404
            holders = list_holders(
                capability=capability,
                group=chosen,
                application=named_application(request, query["application"]),
                page=query["page"],
            )
        return Response(serializers.HoldersSerializer(holders).data)


@contextmanager
def _at(query: dict[str, Any]) -> Iterator[None]:
    """Answer as at the moment that the query names, or now."""
    try:
        with rights_at(parse_moment(query["at"])):
            yield
    except MomentUnknown as unknown:
        raise ValidationError({"at": str(unknown)}) from unknown


def _read(request: Request, form: type[rest.Serializer]) -> dict[str, Any]:
    serializer = form(data=request.query_params.dict())
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _caller(request: Request, query: dict[str, Any]) -> Caller:
    names = {name: query.get(name) or "" for name in CALLER_NAMES}
    return caller_in_question(request, **names)


def _explain_for(request: Request, caller: Caller, full_name: str) -> Explanation | None:
    """Return the whole explanation to admins, and only their own to others.

    A key with the scope is an admin of what its group has.
    """
    if not is_admin(request):
        return explain_own(caller=caller, full_name=full_name)
    group = caller.group_id if isinstance(principal_of(request), KeyHolder) else None
    if group is not None and not capabilities_of(group).filter(full_name=full_name).exists():
        return explain_own(caller=caller, full_name=full_name)
    return explain(caller=caller, full_name=full_name)


def _group(key_group: int | None, name: str) -> Group | None:
    """Return the group to filter by, or None for all."""
    if key_group is None and not name:
        return None
    groups = Group.objects.filter(name=name) if name else Group.objects.all()
    group = (groups.filter(pk=key_group) if key_group is not None else groups).first()
    if group is None:
        raise Http404
    return group
