"""API of grants, for admins: who was given which integration or capability.

A key of some groups gives nothing, and takes from its own groups what they were given.
"""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.rights.caller_lookup import CallerRefused
from acl.web.request_callers import administers_all, groups_known, installation_admin, person_of
from acl.web.strict_serializer import StrictSerializer, Text
from catalog.access.grants import grant, list_grants, revoke
from catalog.access.group_scope import capabilities_of, integrations_of
from catalog.models import Capability, Integration

_NAMES: dict[str, tuple[type[Model], str]] = {
    "user": (User, "username"),
    "group": (Group, "name"),
    "integration": (Integration, "slug"),
    "capability": (Capability, "full_name"),
}
_WHOM, _WHAT = ("user", "group"), ("integration", "capability")


class GrantSerializer(StrictSerializer):
    """A grant: a user or a group, and an integration or a capability."""

    user = Text(max_length=150, required=False, help_text="A user name. This or `group`.")
    group = Text(max_length=150, required=False, help_text="A group's name.")
    integration = Text(
        max_length=200, required=False, help_text="A slug, for all its tools. This or `capability`."
    )
    capability = Text(max_length=200, required=False, help_text="A full name.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for exactly one of each pair."""
        for names in (_WHOM, _WHAT):
            if len([name for name in names if attrs.get(name)]) != 1:
                raise ValidationError({names[0]: f"Name either {' or '.join(names)}."})
        return attrs


class GrantsQuerySerializer(StrictSerializer):
    """The user or the group whose grants are listed."""

    user = serializers.CharField(required=False, max_length=150)
    group = serializers.CharField(required=False, max_length=150)


class GrantsSerializer(serializers.Serializer[Any]):
    """Grants of a user or a group, by name."""

    integrations = serializers.ListField(child=serializers.CharField())
    capabilities = serializers.ListField(child=serializers.CharField())


class GrantsView(APIView):
    """Grants: list, grant and revoke."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_grants",
        tags=["Access"],
        summary="List grants",
        parameters=[GrantsQuerySerializer],
        responses={200: GrantsSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return what was granted to a user, in all their groups, or to a group."""
        installation_admin(request)
        query = GrantsQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        if len(query.validated_data) != 1:
            raise ValidationError({"user": "Name either user or group."})
        [(kind, name)] = query.validated_data.items()
        subject: dict[str, Any] = {kind: _find(kind, name, _NAMES[kind][0]._default_manager.all())}
        integrations, capabilities = list_grants(**subject)
        return Response({"integrations": integrations, "capabilities": capabilities})

    @extend_schema(
        operation_id="grant",
        tags=["Access"],
        summary="Grant an integration or a capability",
        request=GrantSerializer,
        responses={201: GrantSerializer, 200: GrantSerializer},
    )
    def post(self, request: Request) -> Response:
        """Grant it, with effect from the next request. 200 if it was granted already."""
        by, fields = installation_admin(request), _validated(request.data)
        is_new = grant(by=by, **_resolve(request, fields))
        return Response(fields, status=201 if is_new else 200)

    @extend_schema(
        operation_id="revoke_grant",
        tags=["Access"],
        summary="Revoke a grant",
        parameters=[GrantSerializer],
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """Revoke it, with effect from the next request. 204 also if there was none.

        A key of some groups revokes what these were granted.
        """
        by = (
            person_of(request) if request.query_params.get("group") else installation_admin(request)
        )
        query = _validated(request.query_params.dict())
        revoke(by=by, **_resolve(request, query))
        return Response(status=204)


class EarlierGrantsView(GrantsView):
    """The same at its earlier address, which is no longer documented."""

    schema = None


def _validated(data: Any) -> dict[str, str]:
    serializer = GrantSerializer(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _resolve(request: Request, fields: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of `grant` and `revoke`. To a key of some groups, the rest of the people
    and of the catalogue does not exist."""
    rows: dict[str, QuerySet] = {
        kind: table._default_manager.all() for kind, (table, _) in _NAMES.items()
    }
    if not administers_all(request):
        group = Group.objects.filter(groups_known(request, "pk"), name=fields["group"]).first()
        if group is None:
            raise CallerRefused
        rows["integration"], rows["capability"] = (
            integrations_of(group.pk),
            capabilities_of(group.pk),
        )
    subjects = {kind: _find(kind, fields[kind], rows[kind]) for kind in _NAMES if kind in fields}
    target = subjects.pop("integration", None) or subjects.pop("capability")
    return {"target": target, **subjects}


def _find(kind: str, name: str, rows: QuerySet) -> Model:
    row: Model | None = rows.filter(**{_NAMES[kind][1]: name}).first()
    if row is None:
        raise ValidationError({kind: "There is none of that name."})
    return row
