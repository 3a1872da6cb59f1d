"""REST endpoints of keys. Admin keys manage those within their groups, staff manage all."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.keys.lifecycle import OVERLAP, create_key, revoke_key, rotate_key
from acl.models import ApiKey, Application
from acl.models.application import LONGEST_NAME
from acl.rights.caller_lookup import CallerRefused, application_of
from acl.rights.delegation.authority import KeyHolder
from acl.web.request_callers import principal_of
from acl.web.serializers import Flag, Number, StrictSerializer, Text

MOST_OVERLAP = 30 * 24 * 60  # minutes
MOST_GROUPS = 200


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key without its text."""

    group = serializers.SerializerMethodField(help_text="The first of the key's groups.")
    groups = serializers.SerializerMethodField()
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    application = serializers.CharField(
        source="application.name", allow_null=True, default=None, help_text="Its chat application."
    )
    scopes = serializers.ListField(child=serializers.ChoiceField(ApiKey.Scope.choices))

    class Meta:
        model = ApiKey
        fields: tuple[str, ...] = (
            "id",
            "name",
            "group",
            "groups",
            "all_groups",
            "owner",
            "acts_for_users",
            "application",
            "scopes",
            "prefix",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
        )
        read_only_fields = fields

    def get_groups(self, key: ApiKey) -> list[str]:
        """Return the names of the key's groups."""
        return sorted(group.name for group in key.groups.all())

    def get_group(self, key: ApiKey) -> str | None:
        """Return the first group by name; None for a key of all groups."""
        return min((group.name for group in key.groups.all()), default=None)


class NewKeySerializer(KeySerializer):
    """A new key with its text, which is returned only once."""

    key = serializers.CharField(read_only=True)

    class Meta(KeySerializer.Meta):
        fields: tuple[str, ...] = (*KeySerializer.Meta.fields, "key")


class CreateKeySerializer(StrictSerializer):
    """Parameters of a new key: scopes, groups, and whom it acts for."""

    name = Text(max_length=120)
    group = Text(
        max_length=150,
        required=False,
        default=None,
        help_text="Shorthand for one entry in `groups`.",
    )
    groups = serializers.ListField(
        child=Text(max_length=150), required=False, default=list, max_length=MOST_GROUPS
    )
    all_groups = Flag(
        default=False,
        help_text="All groups of the users it acts for, including groups they join later.",
    )
    owner = Text(max_length=150, required=False, allow_null=True, default=None)
    acts_for_users = Flag(default=False)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(ApiKey.Scope.choices),
        min_length=1,
        max_length=len(ApiKey.Scope),
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    application = Text(
        max_length=LONGEST_NAME,
        required=False,
        allow_null=True,
        default=None,
        help_text="The chat application that it belongs to; a key of one makes keys of it only.",
    )


class RotateKeySerializer(StrictSerializer):
    """Parameters of a rotation: how long the old key stays valid."""

    overlap_minutes = Number(
        min_value=0, max_value=MOST_OVERLAP, default=OVERLAP // timedelta(minutes=1)
    )


class KeysView(APIView):
    """Keys: list and create."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_keys",
        tags=["Keys"],
        summary="List keys",
        responses={200: KeySerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """Return keys, newest first."""
        return Response(KeySerializer(_keys(request), many=True).data)

    @extend_schema(
        operation_id="create_key",
        tags=["Keys"],
        summary="Create a key",
        request=CreateKeySerializer,
        responses={201: NewKeySerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a key and return it with its text, this once. It gets at most what the sender
        holds now: scopes, groups, rank, acting for users, and time."""
        serializer = CreateKeySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        fields = serializer.validated_data
        groups = _groups(request, {*fields["groups"], *filter(None, [fields["group"]])})
        # A foreign application is refused as an unknown one is.
        name = fields["application"]
        application_id = application_of(principal_of(request), name) if name else None
        key, raw = create_key(
            by=principal_of(request),
            name=fields["name"],
            groups=groups,
            all_groups=fields["all_groups"],
            scopes=fields["scopes"],
            owner=_owner(request, groups, fields["owner"]),
            acts_for_users=fields["acts_for_users"],
            expires_at=fields["expires_at"],
            application=Application.objects.filter(pk=application_id or 0).first(),
        )
        return Response(_with_text(key, raw), status=201)


class KeyView(APIView):
    """A key."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="revoke_key", tags=["Keys"], summary="Revoke a key", responses={204: None}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke a key, with effect from the next request."""
        revoke_key(by=principal_of(request), key=get_object_or_404(_keys(request), pk=pk))
        return Response(status=204)


class RotateKeyView(APIView):
    """Rotation of a key."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="rotate_key",
        tags=["Keys"],
        summary="Replace a key",
        request=RotateKeySerializer,
        responses={201: NewKeySerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Create a key with the same rights. The old one stays valid for a day, or as requested."""
        serializer = RotateKeySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        overlap = timedelta(minutes=serializer.validated_data["overlap_minutes"])
        key = get_object_or_404(_keys(request).filter(revoked_at=None), pk=pk)
        rotated = rotate_key(by=principal_of(request), key=key, overlap=overlap)
        return Response(_with_text(*rotated), status=201)


def _keys(request: Request) -> QuerySet[ApiKey]:
    keys = (
        ApiKey.objects.filter(connection=None)
        .select_related("owner", "application")
        .prefetch_related("groups")
    )
    return keys.filter(_within(request)).order_by("-created_at", "pk")


def _within(request: Request) -> Q:
    """Limit keys to those that work in the sender's groups and in no other."""
    principal = principal_of(request)
    if (
        not isinstance(principal, KeyHolder)
        or principal.group_ids is None
        or principal.is_of_the_installation
    ):
        return Q()
    links = ApiKey.groups.through.objects.filter(apikey=OuterRef("pk"))
    mine = links.filter(group__in=principal.group_ids)
    others = links.exclude(group__in=principal.group_ids)
    return Q(Exists(mine), ~Exists(others), all_groups=False)


def _groups(request: Request, names: set[str]) -> list[Group]:
    """Return the groups named; a foreign one is refused as an unknown one is."""
    principal = principal_of(request)
    groups = Group.objects.filter(name__in=names).order_by("name")
    if isinstance(principal, KeyHolder):
        groups = groups.filter(principal.administered("pk"))
    rows = list(groups)
    if len(rows) != len(names):
        raise CallerRefused
    return rows


def _owner(request: Request, groups: list[Group], name: str | None) -> User | None:
    """Return an active member of one of the groups, or of any group for a key of all of them."""
    if name is None:
        return None
    principal = principal_of(request)
    people = User.objects.filter(username=name, is_active=True)
    if groups:
        people = people.filter(groups__in=groups)
    elif isinstance(principal, KeyHolder):
        people = people.filter(principal.administered("groups"))
    owner = people.first()
    if owner is None:
        raise CallerRefused
    return owner


def _with_text(key: ApiKey, raw: str) -> dict[str, Any]:
    return {**KeySerializer(key).data, "key": raw}
