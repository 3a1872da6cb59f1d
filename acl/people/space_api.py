"""REST endpoints of spaces, for admins."""

from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import Space
from acl.people.spaces import (
    LONGEST_NAME,
    SpaceRefused,
    create_space,
    delete_space,
    move_space,
    rename_space,
)
from acl.web.api_views import GroupAdminView
from acl.web.problems import Refusals, Unprocessable, refusals_as_problems
from acl.web.request_callers import acting_admin, groups_known
from acl.web.serializers import StrictSerializer, Text

_REFUSALS: Refusals = {SpaceRefused: lambda refused: Unprocessable(str(refused))}
_PARENT = "Slug of a space of the same group."


class SpaceSerializer(serializers.ModelSerializer[Space]):
    """A space; the group's root has no parent."""

    group = serializers.CharField(source="group.name")
    # The metaclass collects fields, so they are no attributes of the class in the end.
    parent: Any = serializers.SlugRelatedField[Space]("slug", read_only=True, allow_null=True)

    class Meta:
        model = Space
        fields = ("id", "group", "slug", "name", "parent")


class CreateSpaceSerializer(StrictSerializer):
    """A new space, below the root if no parent is named."""

    name = Text(max_length=LONGEST_NAME)
    parent: Any = Text(
        max_length=60, required=False, default="", allow_blank=True, help_text=_PARENT
    )


class SpaceOfGroupSerializer(CreateSpaceSerializer):
    """A new space of the named group."""

    group = Text(max_length=150, help_text="A group's name.")


class SpacesQuerySerializer(StrictSerializer):
    """The group whose spaces are listed."""

    group = serializers.CharField(max_length=150, help_text="A group's name.")


class ChangeSpaceSerializer(StrictSerializer):
    """Changes of a space; what is left out stays."""

    name = Text(max_length=LONGEST_NAME, required=False)
    parent: Any = Text(max_length=60, required=False, help_text=_PARENT)


class SpacesView(GroupAdminView):
    """Spaces of a group: list and create."""

    @extend_schema(
        operation_id="list_spaces",
        tags=["Access"],
        summary="List spaces",
        responses={200: SpaceSerializer(many=True)},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return the group's spaces by name."""
        return _list(get_object_or_404(Group, groups_known(request, "pk"), pk=pk))

    @extend_schema(
        operation_id="create_space",
        tags=["Access"],
        summary="Create a space",
        request=CreateSpaceSerializer,
        responses={201: SpaceSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Create a space. It inherits the rules of its parent."""
        group = get_object_or_404(Group, groups_known(request, "pk"), pk=pk)
        serializer = CreateSpaceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return _create(request, group, serializer.validated_data)


class SpacesOfGroupView(GroupAdminView):
    """Spaces of a group by its name: list and create."""

    @extend_schema(
        operation_id="find_spaces",
        tags=["Access"],
        summary="List spaces by the group's name",
        parameters=[SpacesQuerySerializer],
        responses={200: SpaceSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """Return the group's spaces by name."""
        serializer = SpacesQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        return _list(_group_of(request, serializer.validated_data["group"]))

    @extend_schema(
        operation_id="add_space",
        tags=["Access"],
        summary="Create a space by the group's name",
        request=SpaceOfGroupSerializer,
        responses={201: SpaceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a space. It inherits the rules of its parent."""
        serializer = SpaceOfGroupSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return _create(
            request,
            _group_of(request, serializer.validated_data["group"]),
            serializer.validated_data,
        )


class SpaceView(GroupAdminView):
    """A space."""

    @extend_schema(
        operation_id="change_space",
        tags=["Access"],
        summary="Rename or move a space",
        request=ChangeSpaceSerializer,
        responses={200: SpaceSerializer},
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change the name or the parent. The slug stays, because requests use it."""
        space, by = _find(request, pk), acting_admin(request)
        serializer = ChangeSpaceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        parent = _space_of(space.group, data["parent"]) if "parent" in data else None
        with refusals_as_problems(_REFUSALS), transaction.atomic():
            if "name" in data:
                rename_space(by=by, space=space, name=data["name"])
            if parent is not None:
                move_space(by=by, space=space, parent=parent)
        return Response(SpaceSerializer(_find(request, pk)).data)

    @extend_schema(
        operation_id="delete_space",
        tags=["Access"],
        summary="Delete a space",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the space with its own rules. The spaces below it move up to its parent."""
        with refusals_as_problems(_REFUSALS):
            delete_space(by=acting_admin(request), space=_find(request, pk))
        return Response(status=204)


def _list(group: Group) -> Response:
    spaces = Space.objects.filter(group=group).select_related("group", "parent")
    return Response(SpaceSerializer(spaces.order_by("name", "pk"), many=True).data)


def _create(request: Request, group: Group, data: dict[str, str]) -> Response:
    by = acting_admin(request)
    parent = _space_of(group, data["parent"]) if data["parent"] else None
    with refusals_as_problems(_REFUSALS):
        space = create_space(by=by, group=group, parent=parent, name=data["name"])
    return Response(SpaceSerializer(space).data, status=201)


def _group_of(request: Request, name: str) -> Group:
    group = Group.objects.filter(groups_known(request, "pk"), name=name).first()
    if group is None:
        raise exceptions.ValidationError({"group": "There is none of that name."})
    return group


def _find(request: Request, pk: int) -> Space:
    return get_object_or_404(
        Space.objects.filter(groups_known(request)).select_related("group", "parent"), pk=pk
    )


def _space_of(group: Group, slug: str) -> Space:
    space = Space.objects.filter(group=group, slug=slug).first()
    if space is None:
        raise exceptions.ValidationError({"parent": "The group has no such space."})
    return space
