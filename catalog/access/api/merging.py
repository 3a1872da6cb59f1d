"""API of merging groups, for admins: the preview, and the merge."""

from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.people.groups import GroupRefused
from acl.web.api_views import AdminView
from acl.web.problems import Refusals, Unprocessable, refusals_as_problems
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text, serializer_for
from catalog.access._group_merge import merge_groups, preview_merge
from catalog.access.change_preview import Shift

_REFUSALS: Refusals = {GroupRefused: lambda refused: Unprocessable(str(refused))}


class MergeSerializer(StrictSerializer):
    """Name of the remaining group."""

    into = Text(max_length=150, help_text="The name of the group that members and grants go to.")


class MergePreviewSerializer(serializers.Serializer[Any]):
    """The effects of a merge."""

    joining = serializers.IntegerField(help_text="Active people who join the group that stays.")
    grants = serializers.IntegerField(help_text="Grants that go over.")
    rules = serializers.IntegerField(help_text="Rules in other groups' spaces that go over.")
    gains = serializer_for(Shift)(many=True)
    losses = serializer_for(Shift)(many=True)
    more = serializers.IntegerField(help_text="Gains and losses that are left out.")
    not_worked_out = serializers.IntegerField(help_text="People who were not compared.")
    keys = serializers.ListField(
        child=serializers.CharField(), help_text="Names of the keys that are revoked."
    )
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="Numbers of deleted rows by table."
    )


class GroupMergeView(AdminView):
    """Merging a group into another."""

    @extend_schema(
        operation_id="preview_group_merge",
        tags=["People"],
        summary="Preview a merge",
        parameters=[MergeSerializer],
        responses={200: MergePreviewSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return who would gain and lose what. Nothing changes."""
        group, into = _groups(pk, request.query_params.dict())
        with refusals_as_problems(_REFUSALS):
            preview = preview_merge(source=group, into=into)
        effects, going = preview.effects, preview.going
        body = {
            "joining": preview.joining,
            "grants": preview.grants,
            "rules": preview.rules,
            "gains": effects.gains,
            "losses": effects.losses,
            "more": effects.more,
            "not_worked_out": effects.not_worked_out,
            "keys": [key.name for key in going.keys],
            "rows": going.rows,
        }
        return Response(MergePreviewSerializer(body).data)

    @extend_schema(
        operation_id="merge_groups",
        tags=["People"],
        summary="Merge groups",
        request=MergeSerializer,
        responses={204: None},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Move members, grants and rules to the other group, and delete this one."""
        group, into = _groups(pk, request.data)
        with refusals_as_problems(_REFUSALS):
            merge_groups(by=installation_admin(request), source=group, into=into)
        return Response(status=204)


def _groups(pk: int, data: Any) -> tuple[Group, Group]:
    group = get_object_or_404(Group, pk=pk)
    serializer = MergeSerializer(data=data)
    serializer.is_valid(raise_exception=True)
    into = Group.objects.filter(name=serializer.validated_data["into"]).first()
    if into is None:
        raise ValidationError({"into": "There is no group with this name."})
    return group, into
