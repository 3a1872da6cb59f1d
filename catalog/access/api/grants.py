"""API of grants and rules: who was given what, and what a space allows."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Model, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey, Space
from acl.rights.caller_lookup import CallerRefused
from acl.web.request_callers import (
    administers_all,
    groups_known,
    installation_admin,
    own_group,
    person_of,
)
from acl.web.serializers import StrictSerializer, Text
from catalog.access.api import access_serializers
from catalog.access.grants import grant, list_grants, revoke
from catalog.access.group_scope import capabilities_of, integrations_of
from catalog.access.kept_limits import lift, list_kept
from catalog.access.rules import add_rule, find_warnings, remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule

# API of grants, for admins: who was given which integration or capability.
#
# A key of some groups gives nothing, and takes from its own groups what they were given.

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


# API of rules: a key manages its own group's spaces, staff manage all.

RELATED = ("space__group", "integration", "capability", "user", "group")


class RulesView(APIView):
    """The list of rules, and new rules."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_rules",
        tags=["Access"],
        summary="List rules",
        parameters=[access_serializers.RulesQuerySerializer],
        responses={200: access_serializers.RulesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of rules, by group and space, oldest first."""
        serializer = access_serializers.RulesQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        filters = serializer.validated_data
        paths = {
            "group": "space__group__name",
            "space": "space__slug",
            "integration": "integration__slug",
            "capability": "capability__full_name",
        }
        rules = (
            _rules(request)
            .filter(Q(**{path: filters[name] for name, path in paths.items() if filters[name]}))
            .select_related(*RELATED)
        )
        rules = rules.order_by("space__group__name", "space__slug", "pk")
        limit, offset = filters["limit"], filters["offset"]
        total = rules.count()
        page = {
            "items": rules[offset : offset + limit],
            "total": total,
            "has_more": offset + limit < total,
            "limit": limit,
            "offset": offset,
        }
        return Response(access_serializers.RulesSerializer(page).data)

    @extend_schema(
        operation_id="create_rule",
        tags=["Access"],
        summary="Create a rule",
        request=access_serializers.CreateRuleSerializer,
        responses={201: access_serializers.NewRuleSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a rule.

        It takes effect with the next request, in the space and all below it. Creating the same rule
        again returns the existing one. `warnings` lists conflicts with other rules.
        """
        serializer = access_serializers.CreateRuleSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = _resolve_rule(request, serializer.validated_data)
        warnings = find_warnings(**values)
        rule = add_rule(by=person_of(request), **values)
        body = access_serializers.RuleSerializer(rule).data
        advice = access_serializers.AdviceSerializer(warnings, many=True).data
        return Response({**body, "warnings": advice}, status=201)


class RuleView(APIView):
    """A single rule."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="remove_rule", tags=["Access"], summary="Lift a rule", responses={204: None}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a rule.

        Rules further up, grants and defaults decide again from the next request on.
        """
        rule = get_object_or_404(_rules(request).select_related(*RELATED), pk=pk)
        remove_rule(by=person_of(request), rule=rule)
        return Response(status=204)


class KeptRulesView(APIView):
    """Rules whose integration or tool is gone, and which wait for it."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_kept_rules",
        tags=["Access"],
        summary="List rules that wait for what they name",
        parameters=[access_serializers.KeptRulesQuerySerializer],
        responses={200: access_serializers.KeptRulesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of rules that outlived their integration or tool.

        Each holds again as soon as something of its name is installed.
        """
        serializer = access_serializers.KeptRulesQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        limit, offset = (serializer.validated_data[name] for name in ("limit", "offset"))
        rows = _kept(request)
        total = rows.count()
        page = {
            "items": rows[offset : offset + limit],
            "total": total,
            "has_more": offset + limit < total,
            "limit": limit,
            "offset": offset,
        }
        return Response(access_serializers.KeptRulesSerializer(page).data)


class KeptRuleView(APIView):
    """A single waiting rule."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="lift_kept_rule",
        tags=["Access"],
        summary="Lift a rule that waits",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the rule: what comes back under its name is free of it."""
        lift(by=person_of(request), limit=get_object_or_404(_kept(request), pk=pk))
        return Response(status=204)


def _kept(request: Request) -> QuerySet[KeptLimit]:
    """Return the waiting rules of the groups that the key manages; staff see all."""
    return list_kept().filter(groups_known(request, "space__group"))


def _rules(request: Request) -> QuerySet[Rule]:
    return Rule.objects.filter(groups_known(request, "space__group"))


def _resolve_rule(request: Request, fields: dict[str, Any]) -> dict[str, Any]:
    """Resolve the names in a request; a key gets the same error for hidden and missing things."""
    key_group = own_group(request, fields["group"])
    space = _space(key_group, fields["group"], fields["space"])
    integrations = Integration.objects.all() if key_group is None else integrations_of(key_group)
    capabilities = Capability.objects.all() if key_group is None else capabilities_of(key_group)
    users, groups = User.objects.all(), Group.objects.all()
    if key_group is not None:
        users = users.filter(groups=key_group)
        groups = groups.filter(user__groups=key_group).distinct()
    return {
        "space": space,
        "effect": Rule.Effect[fields["effect"].upper()],
        "integration": _find_named(integrations, "slug", fields, "integration"),
        "capability": _find_named(capabilities, "full_name", fields, "capability"),
        "user": _find_named(users, "username", fields, "for_user"),
        "group": _find_named(groups, "name", fields, "for_group"),
    }


def _space(key_group: int | None, group: str, slug: str) -> Space:
    if key_group is None and not group:
        raise ValidationError({"group": "Name the group whose space it is."})
    groups = Group.objects.filter(name=group) if group else Group.objects.all()
    owner = (groups.filter(pk=key_group) if key_group is not None else groups).first()
    if owner is None:
        raise CallerRefused
    spaces = Space.objects.select_related("group").filter(group=owner)
    space = (spaces.filter(slug=slug) if slug else spaces.filter(parent=None)).first()
    if space is None:
        raise ValidationError({"space": "The group has no such space."})
    return space


def _find_named(rows: QuerySet, column: str, fields: dict[str, Any], field: str) -> Model | None:
    """Return the named row, or None if the field is empty."""
    if fields[field] is None:
        return None
    row: Model | None = rows.filter(**{column: fields[field]}).first()
    if row is None:
        raise ValidationError({field: "There is nothing of that name."})
    return row
