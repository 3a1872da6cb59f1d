"""REST endpoints of runtime capabilities: made by keys, decided about by admins."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.delegation.key_holder import KeyHolder
from acl.http.problems import CONTENT_TYPE
from acl.http.refusals import Conflict, Refusals, refusals_as_problems
from acl.http.request_callers import (
    caller_of,
    installation_admin,
    is_admin,
    is_installation_admin,
    principal_of,
)
from acl.http.scopes import has_scope
from acl.http.strict_serializer import ProblemSerializer
from acl.models import ApiKey
from acl.rights.caller import Caller
from catalog.lifecycle import runtime_state
from catalog.lookups import lookup_api
from catalog.models import RuntimeCapability
from catalog.runtime import runtime_capabilities, runtime_list, runtime_serializers

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}
_REFUSALS: Refusals = {
    runtime_capabilities.RefusedDefinitionError: lambda refused: ValidationError(
        {refused.field: [str(refused)]}
    ),
    runtime_capabilities.ConflictError: lambda refused: Conflict(str(refused)),
    runtime_state.WrongStateError: lambda refused: Conflict(str(refused)),
    # Unknown, expired, someone else's and another group's look alike.
    RuntimeCapability.DoesNotExist: lambda _: NotFound(),
}


class CapabilitiesView(lookup_api.CapabilitiesView):
    """The list of capabilities, and new ones."""

    required_scope = {"GET": ApiKey.Scope.DISCOVER, "POST": ApiKey.Scope.REGISTER}

    @extend_schema(
        operation_id="create_capability",
        tags=["Capabilities"],
        summary="Create a capability at runtime",
        request=runtime_serializers.NewCapabilitySerializer,
        responses={201: runtime_serializers.RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Create a skill, voice provider or emergent tool of the caller's group. Only this group
        can use it, until an admin promotes it. Suspicious texts wait for a review."""
        caller, wanted = _read(request, runtime_serializers.NewCapabilitySerializer)
        with refusals_as_problems(_REFUSALS):
            row = runtime_capabilities.create_capability(
                maker=_maker(request, caller),
                kind=wanted.pop("kind"),
                name=wanted.pop("name"),
                expires_at=wanted.pop("expires_at", None),
                fields=wanted,
            )
        return Response(_shown(row), status=201)


class CapabilityView(lookup_api.CapabilityView):
    """A single capability."""

    required_scope = {
        "GET": ApiKey.Scope.DISCOVER,
        "PUT": ApiKey.Scope.REGISTER,
        "DELETE": ApiKey.Scope.REGISTER,
    }

    @extend_schema(
        operation_id="replace_capability",
        tags=["Capabilities"],
        summary="Replace a runtime capability",
        request=runtime_serializers.DefinitionFieldsSerializer,
        responses={200: runtime_serializers.RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def put(self, request: Request, full_name: str) -> Response:
        """Replace the definition of one's own capability. The same one again changes nothing."""
        caller, wanted = _read(request, runtime_serializers.DefinitionFieldsSerializer)
        with refusals_as_problems(_REFUSALS):
            row = runtime_capabilities.replace_capability(
                owner=caller.user_id,
                groups=caller.group_ids,
                full_name=full_name,
                expires_at=wanted.pop("expires_at", None),
                fields=wanted,
            )
        return Response(_shown(row))

    @extend_schema(
        operation_id="retire_capability",
        tags=["Capabilities"],
        summary="Retire a runtime capability",
        parameters=[runtime_serializers.MakerSerializer],
        responses={204: None, **_PROBLEMS},
    )
    def delete(self, request: Request, full_name: str) -> Response:
        """Switch one's own capability off, and keep it for the audit log."""
        serializer = runtime_serializers.MakerSerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        caller = caller_of(request, **serializer.validated_data, acting=True)
        with refusals_as_problems(_REFUSALS):
            runtime_capabilities.retire_capability(
                owner=caller.user_id, groups=caller.group_ids, full_name=full_name
            )
        return Response(status=204)


class OwnCapabilitiesView(APIView):
    """Runtime capabilities of one owner."""

    required_scope = ApiKey.Scope.REGISTER

    @extend_schema(
        operation_id="list_own_capabilities",
        tags=["Capabilities"],
        summary="List your own runtime capabilities",
        parameters=[runtime_serializers.OwnQuerySerializer],
        responses={200: runtime_serializers.RuntimePageSerializer, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return what the owner made in their groups, in any state, by full name."""
        serializer = runtime_serializers.OwnQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        wanted = dict(serializer.validated_data)
        start, limit, state = wanted.pop("offset"), wanted.pop("limit"), wanted.pop("state", "")
        caller = caller_of(request, **wanted, acting=True)
        rows = runtime_list.list_own(owner=caller.user_id, groups=caller.group_ids)
        if state:
            rows = rows.filter(Q(status=state))
        count, entries = rows.count(), runtime_list.read_entries(rows[start : start + limit])
        page = {"items": entries, "count": count, "has_more": start + limit < count}
        return Response(runtime_serializers.RuntimePageSerializer(page).data)


class CapabilityStateView(APIView):
    """Get the state of a runtime capability."""

    required_scope = {
        "GET": (ApiKey.Scope.REGISTER, ApiKey.Scope.ADMIN),
        "POST": ApiKey.Scope.ADMIN,
    }

    @extend_schema(
        operation_id="get_capability_state",
        tags=["Capabilities"],
        summary="Get the state of a runtime capability",
        parameters=[runtime_serializers.MakerSerializer],
        responses={200: runtime_serializers.RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """Return state, expiry and findings: to its owner, and to admins. 404 for others."""
        serializer = runtime_serializers.MakerSerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        if not has_scope(request.user, ApiKey.Scope.REGISTER):
            installation_admin(request)
        if is_admin(request) and is_installation_admin(request) and not serializer.validated_data:
            rows = runtime_list.list_all()
        else:
            caller = caller_of(request, **serializer.validated_data, acting=True)
            rows = runtime_list.list_own(owner=caller.user_id, groups=caller.group_ids)
        return Response(_shown(get_object_or_404(rows, full_name=full_name)))

    @extend_schema(
        operation_id="decide_capability",
        tags=["Capabilities"],
        summary="Approve, promote or retire a runtime capability",
        request=runtime_serializers.StateChangeSerializer,
        responses={200: runtime_serializers.RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def post(self, request: Request, full_name: str) -> Response:
        """Approve the definition with the digest `seen`, then promote it to further groups, or
        retire it for good."""
        serializer = runtime_serializers.StateChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        by = installation_admin(request)
        row = get_object_or_404(runtime_list.list_all(), full_name=full_name)
        with refusals_as_problems(_REFUSALS):
            _decide(by, row, **serializer.validated_data)
        return Response(_shown(row))


def _decide(by: User, row: RuntimeCapability, *, state: str, seen: str, groups: list[str]) -> None:
    if state == "approved":
        runtime_state.approve(by=by, row=row, seen=seen)
    elif state == "promoted":
        runtime_state.promote(by=by, row=row, groups=_groups(groups))
    elif not runtime_state.retire(by=by, row=row, withdrawn=True):
        raise runtime_state.WrongStateError("It is already retired.")


def _groups(names: list[str]) -> list[Group]:
    found = list(Group.objects.filter(name__in=names).order_by("name"))
    if len(found) != len(set(names)):
        raise ValidationError({"groups": "One of these groups does not exist."})
    return found


def _read(
    request: Request, serializer_class: type[runtime_serializers.MakerSerializer]
) -> tuple[Caller, dict[str, Any]]:
    """Return the person and groups asked for, and the fields of the definition."""
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    wanted = dict(serializer.validated_data)
    named = {name: wanted.pop(name, None) for name in ("user", "group")}
    return caller_of(request, **named, acting=True), wanted


def _maker(request: Request, caller: Caller) -> runtime_capabilities.Maker:
    if caller.is_united:
        raise ValidationError({"group": "The person has several groups here: name one of them."})
    principal = principal_of(request)
    return runtime_capabilities.Maker(
        owner=User.objects.get(pk=caller.user_id),
        group=Group.objects.get(pk=caller.group_id),
        key_id=principal.key_id if isinstance(principal, KeyHolder) else None,
    )


def _shown(row: RuntimeCapability) -> dict[str, Any]:
    return runtime_serializers.RuntimeCapabilitySerializer(runtime_list.read_entry(row)).data
