"""API of rules: a key manages its own group's spaces, staff manage all."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Model, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey, Space
from acl.rights.caller_lookup import CallerRefused
from acl.web.request_callers import groups_known, own_group, person_of
from catalog.access.api import access_serializers as serializers
from catalog.access.group_scope import capabilities_of, integrations_of
from catalog.access.kept_limits import lift, list_kept
from catalog.access.rules import add_rule, find_warnings, remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule

RELATED = ("space__group", "integration", "capability", "user", "group")


class RulesView(APIView):
    """The list of rules, and new rules."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_rules",
        tags=["Access"],
        summary="List rules",
        parameters=[serializers.RulesQuerySerializer],
        responses={200: serializers.RulesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of rules, by group and space, oldest first."""
        serializer = serializers.RulesQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        filters = serializer.validated_data
        rules = _rules(request).filter(_filter_for(filters)).select_related(*RELATED)
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
        return Response(serializers.RulesSerializer(page).data)

    @extend_schema(
        operation_id="create_rule",
        tags=["Access"],
        summary="Create a rule",
        request=serializers.CreateRuleSerializer,
        responses={201: serializers.NewRuleSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a rule.

        It takes effect with the next request, in the space and all below it. Creating the same rule
        again returns the existing one. `warnings` lists conflicts with other rules.
        """
        serializer = serializers.CreateRuleSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = _resolve_rule(request, serializer.validated_data)
        warnings = find_warnings(**values)
        rule = add_rule(by=person_of(request), **values)
        body = serializers.RuleSerializer(rule).data
        advice = serializers.AdviceSerializer(warnings, many=True).data
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
        parameters=[serializers.KeptRulesQuerySerializer],
        responses={200: serializers.KeptRulesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of rules that outlived their integration or tool.

        Each holds again as soon as something of its name is installed.
        """
        serializer = serializers.KeptRulesQuerySerializer(data=request.query_params.dict())
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
        return Response(serializers.KeptRulesSerializer(page).data)


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


def _filter_for(filters: dict[str, Any]) -> Q:
    paths = {
        "group": "space__group__name",
        "space": "space__slug",
        "integration": "integration__slug",
        "capability": "capability__full_name",
    }
    return Q(**{path: filters[name] for name, path in paths.items() if filters[name]})


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
