"""REST endpoints of runtime capabilities: made by keys, decided about by admins."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.validators import RegexValidator
from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.platform.database_work import database_now
from acl.rights.caller_lookup import Caller
from acl.rights.delegation.authority import KeyHolder
from acl.web.authentication import has_scope
from acl.web.problems import CONTENT_TYPE, Conflict, Refusals, refusals_as_problems
from acl.web.request_callers import (
    caller_of,
    installation_admin,
    is_admin,
    is_installation_admin,
    principal_of,
)
from acl.web.serializers import Flag, ProblemSerializer, StrictSerializer, Text, serializer_for
from catalog.capabilities import lookup_api, runtime_state
from catalog.models import Capability, RuntimeCapability
from catalog.runtime import service
from catalog.runtime import service as runtime_list
from catalog.runtime.service import RUNTIME_KINDS, STATUSES, RuntimeEntry
from catalog.runtime.tool_settings_api import (
    ChangeToolSettingsSerializer,
    ToolSettingsSerializer,
    change_settings,
)

# Serializers of runtime capabilities.

LONGEST_LIFE = timedelta(days=365)
_CHANGES = ("approved", "promoted", "retired")


class MakerSerializer(StrictSerializer):
    """Owner and proposing group, as a request names them."""

    user = Text(
        max_length=150,
        required=False,
        help_text="The owner's name; defaults to the key's owner or the signed-in person.",
    )
    group = Text(
        max_length=150,
        required=False,
        help_text="The proposing group; needed if the person has several that the key covers.",
    )


class DefinitionFieldsSerializer(MakerSerializer):
    """A definition without its name and kind."""

    description = Text(max_length=8_000)
    display_name = Text(max_length=200, required=False)
    category = Text(max_length=60, required=False)
    tags = serializers.ListField(child=Text(max_length=60), required=False, max_length=20)
    input_schema = serializers.DictField(required=False, help_text="A JSON schema of arguments.")
    content = Text(max_length=64_000, required=False, help_text="A skill's Markdown.")
    examples = serializers.ListField(child=Text(max_length=500), required=False, max_length=20)
    required_tools = serializers.ListField(
        child=Text(max_length=200), required=False, max_length=20
    )
    has_side_effects = Flag(required=False)
    expires_at = serializers.DateTimeField(
        required=False, help_text="At most a year ahead; 30 days if a new one has none."
    )

    def validate_expires_at(self, value: datetime) -> datetime:
        """Refuse times in the past and more than a year ahead."""
        now = database_now()
        if not now < value <= now + LONGEST_LIFE:
            raise serializers.ValidationError("Must be in the future, at most a year ahead.")
        return value


class NewCapabilitySerializer(DefinitionFieldsSerializer):
    """A new capability."""

    kind = serializers.ChoiceField(RUNTIME_KINDS)
    name = Text(max_length=40, validators=[RegexValidator(r"^[a-zA-Z0-9][a-zA-Z0-9_-]*\Z")])


class StateChangeSerializer(StrictSerializer):
    """A decision of an admin."""

    state = serializers.ChoiceField(_CHANGES)
    seen = Text(
        max_length=64, required=False, default="", help_text="`definition` of the text approved."
    )
    groups = serializers.ListField(
        child=Text(max_length=150),
        required=False,
        default=list,
        max_length=50,
        help_text="Further groups that get a promoted capability.",
    )

    def validate(self, attrs: Any) -> Any:
        """Ask for what the decision needs."""
        if attrs["state"] == "approved" and not attrs["seen"]:
            raise serializers.ValidationError({"seen": "Send the digest of the text you approve."})
        if (attrs["state"] == "promoted") != bool(attrs["groups"]):
            raise serializers.ValidationError({"groups": "Give groups to promote, and only then."})
        return attrs


RuntimeCapabilitySerializer = serializer_for(RuntimeEntry)


class OwnQuerySerializer(MakerSerializer):
    """Query for one's own runtime capabilities."""

    state = serializers.ChoiceField(STATUSES, required=False)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000)


class RuntimePageSerializer(serializers.Serializer[Any]):
    """A page of runtime capabilities, by full name."""

    items = RuntimeCapabilitySerializer(many=True)
    count = serializers.IntegerField()
    has_more = serializers.BooleanField()


_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}
_REFUSALS: Refusals = {
    service.ConflictError: lambda refused: Conflict(str(refused)),
    runtime_state.WrongStateError: lambda refused: Conflict(str(refused)),
    # Unknown, expired, someone else's and another group's look alike.
    RuntimeCapability.DoesNotExist: lambda _: NotFound(),
}


class RuntimeCapabilitiesView(lookup_api.CapabilitiesView):
    """The list of capabilities, and new ones."""

    required_scope = {"GET": ApiKey.Scope.DISCOVER, "POST": ApiKey.Scope.REGISTER}

    @extend_schema(
        operation_id="create_capability",
        tags=["Capabilities"],
        summary="Create a capability at runtime",
        request=NewCapabilitySerializer,
        responses={201: RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Create a skill, voice provider or emergent tool of the caller's group. Only this group
        can use it, until an admin promotes it. Suspicious texts wait for a review."""
        caller, fields = _read(request, NewCapabilitySerializer)
        with refusals_as_problems(_REFUSALS):
            row = service.create_capability(
                maker=_maker(request, caller),
                kind=fields.pop("kind"),
                name=fields.pop("name"),
                expires_at=fields.pop("expires_at", None),
                fields=fields,
            )
        return Response(_shown(row), status=201)


class RuntimeCapabilityView(lookup_api.CapabilityView):
    """A single capability."""

    required_scope = {
        "GET": ApiKey.Scope.DISCOVER,
        "PUT": ApiKey.Scope.REGISTER,
        "PATCH": ApiKey.Scope.ADMIN,
        "DELETE": ApiKey.Scope.REGISTER,
    }

    @extend_schema(
        operation_id="set_capability",
        tags=["Capabilities"],
        summary="Switch a tool off or on, rename or describe it, or set its effect or category",
        request=ChangeToolSettingsSerializer,
        responses={200: ToolSettingsSerializer, **_PROBLEMS},
    )
    def patch(self, request: Request, full_name: str) -> Response:
        """Change an admin's settings of a tool, for everyone. Rules are for single groups."""
        installation_admin(request)
        return change_settings(request, get_object_or_404(Capability, full_name=full_name))

    @extend_schema(
        operation_id="replace_capability",
        tags=["Capabilities"],
        summary="Replace a runtime capability",
        request=DefinitionFieldsSerializer,
        responses={200: RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def put(self, request: Request, full_name: str) -> Response:
        """Replace the definition of one's own capability. The same one again changes nothing."""
        caller, fields = _read(request, DefinitionFieldsSerializer)
        with refusals_as_problems(_REFUSALS):
            row = service.replace_capability(
                owner=caller.user_id,
                groups=caller.group_ids,
                full_name=full_name,
                expires_at=fields.pop("expires_at", None),
                fields=fields,
            )
        return Response(_shown(row))

    @extend_schema(
        operation_id="retire_capability",
        tags=["Capabilities"],
        summary="Retire a runtime capability",
        parameters=[MakerSerializer],
        responses={204: None, **_PROBLEMS},
    )
    def delete(self, request: Request, full_name: str) -> Response:
        """Switch one's own capability off, and keep it for the audit log."""
        serializer = MakerSerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        caller = caller_of(request, **serializer.validated_data, acting=True)
        with refusals_as_problems(_REFUSALS):
            service.retire_capability(
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
        parameters=[OwnQuerySerializer],
        responses={200: RuntimePageSerializer, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return what the owner made in their groups, in any state, by full name."""
        serializer = OwnQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        filters = dict(serializer.validated_data)
        start, limit, state = filters.pop("offset"), filters.pop("limit"), filters.pop("state", "")
        caller = caller_of(request, **filters, acting=True)
        rows = runtime_list.list_own(owner=caller.user_id, groups=caller.group_ids)
        if state:
            rows = rows.filter(Q(status=state))
        count, entries = rows.count(), runtime_list.read_entries(rows[start : start + limit])
        page = {"items": entries, "count": count, "has_more": start + limit < count}
        return Response(RuntimePageSerializer(page).data)


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
        parameters=[MakerSerializer],
        responses={200: RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """Return state, expiry and findings: to its owner, and to admins. 404 for others."""
        serializer = MakerSerializer(data=request.query_params.dict())
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
        request=StateChangeSerializer,
        responses={200: RuntimeCapabilitySerializer, **_PROBLEMS},
    )
    def post(self, request: Request, full_name: str) -> Response:
        """Approve the definition with the digest `seen`, then promote it to further groups, or
        retire it for good."""
        serializer = StateChangeSerializer(data=request.data)
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
        rows = list(Group.objects.filter(name__in=groups).order_by("name"))
        if len(rows) != len(set(groups)):
            raise ValidationError({"groups": "One of these groups does not exist."})
        runtime_state.promote(by=by, row=row, groups=rows)
    elif not runtime_state.retire(by=by, row=row, withdrawn=True):
        raise runtime_state.WrongStateError("It is already retired.")


def _read(
    request: Request, serializer_class: type[MakerSerializer]
) -> tuple[Caller, dict[str, Any]]:
    """Return the person and groups asked for, and the fields of the definition."""
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    fields = dict(serializer.validated_data)
    caller_fields = {name: fields.pop(name, None) for name in ("user", "group")}
    return caller_of(request, **caller_fields, acting=True), fields


def _maker(request: Request, caller: Caller) -> service.Maker:
    if caller.is_united:
        raise ValidationError({"group": "The person has several groups here: name one of them."})
    principal = principal_of(request)
    return service.Maker(
        owner=User.objects.get(pk=caller.user_id),
        group=Group.objects.get(pk=caller.group_id),
        key_id=principal.key_id if isinstance(principal, KeyHolder) else None,
    )


def _shown(row: RuntimeCapability) -> dict[str, Any]:
    answer: dict[str, Any] = RuntimeCapabilitySerializer(runtime_list.read_entry(row)).data
    return answer
