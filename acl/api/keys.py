"""Keys by API: an admin key sees and changes those of its own group, staff those of every group."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.api.callers import person_of, principal_of
from acl.api.serializers import Flag, Number, StrictSerializer, Text
from acl.models import ApiKey
from acl.services.callers import CallerRefused
from acl.services.keys import OVERLAP, KeyHolder, create_key, revoke_key, rotate_key

MOST_OVERLAP = 30 * 24 * 60  # minutes


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key as it can be seen: never the key itself."""

    group = serializers.CharField(source="group.name")
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    scopes = serializers.ListField(child=serializers.ChoiceField(ApiKey.Scope.choices))

    class Meta:
        model = ApiKey
        fields: tuple[str, ...] = (
            "id",
            "name",
            "group",
            "owner",
            "acts_for_users",
            "scopes",
            "prefix",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
        )
        read_only_fields = fields


class NewKeySerializer(KeySerializer):
    """A key with its raw text, which is told this once."""

    key = serializers.CharField(read_only=True)

    class Meta(KeySerializer.Meta):
        fields: tuple[str, ...] = (*KeySerializer.Meta.fields, "key")


class CreateKeySerializer(StrictSerializer):
    """What a new key may do, and for whom."""

    name = Text(max_length=120)
    group = Text(max_length=150)
    owner = Text(max_length=150, required=False, allow_null=True, default=None)
    acts_for_users = Flag(default=False)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(ApiKey.Scope.choices), min_length=1, max_length=4
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


class RotateKeySerializer(StrictSerializer):
    """How long the old key goes on."""

    overlap_minutes = Number(
        min_value=0, max_value=MOST_OVERLAP, default=OVERLAP // timedelta(minutes=1)
    )


class KeysView(APIView):
    """All keys, and new ones."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_keys",
        tags=["Keys"],
        summary="List keys",
        responses={200: KeySerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        return Response(KeySerializer(_keys(request), many=True).data)

    @extend_schema(
        operation_id="create_key",
        tags=["Keys"],
        summary="Create a key",
        request=CreateKeySerializer,
        responses={201: NewKeySerializer},
    )
    def post(self, request: Request) -> Response:
        """The new key, with the only sight of its text."""
        serializer = CreateKeySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        group = _group(request, wanted["group"])
        key, raw = create_key(
            by=person_of(request),
            name=wanted["name"],
            group=group,
            scopes=wanted["scopes"],
            owner=_owner(group, wanted["owner"]),
            acts_for_users=wanted["acts_for_users"],
            expires_at=wanted["expires_at"],
        )
        return Response(_with_text(key, raw), status=201)


class KeyView(APIView):
    """One key."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="revoke_key", tags=["Keys"], summary="Revoke a key", responses={204: None}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """From the next request on it is refused."""
        revoke_key(by=person_of(request), key=get_object_or_404(_keys(request), pk=pk))
        return Response(status=204)


class RotateKeyView(APIView):
    """A key's successor."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="rotate_key",
        tags=["Keys"],
        summary="Replace a key",
        request=RotateKeySerializer,
        responses={201: NewKeySerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """A new key with the same rights; the old one goes on for a day, or as long as is said."""
        serializer = RotateKeySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        overlap = timedelta(minutes=serializer.validated_data["overlap_minutes"])
        key = get_object_or_404(_keys(request).filter(revoked_at=None), pk=pk)
        rotated = rotate_key(by=person_of(request), key=key, overlap=overlap)
        return Response(_with_text(*rotated), status=201)


def _keys(request: Request) -> QuerySet[ApiKey]:
    keys = ApiKey.objects.select_related("group", "owner").order_by("-created_at", "pk")
    principal = principal_of(request)
    return keys.filter(group=principal.group_id) if isinstance(principal, KeyHolder) else keys


def _group(request: Request, name: str) -> Group:
    principal = principal_of(request)
    groups = Group.objects.filter(name=name)
    if isinstance(principal, KeyHolder):
        groups = groups.filter(pk=principal.group_id)
    group = groups.first()
    if group is None:
        raise CallerRefused
    return group


def _owner(group: Group, name: str | None) -> User | None:
    if name is None:
        return None
    owner = User.objects.filter(groups=group, username=name, is_active=True).first()
    if owner is None:
        raise CallerRefused
    return owner


def _with_text(key: ApiKey, raw: str) -> dict[str, Any]:
    return {**KeySerializer(key).data, "key": raw}
