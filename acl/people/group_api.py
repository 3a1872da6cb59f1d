"""REST endpoints of groups and their members, for admins."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Coalesce
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.people._invitations import MOST_ENTRIES, add_all
from acl.people.api import PageSerializer, PersonSerializer, page_of, paged
from acl.people.groups import (
    LONGEST_NAME,
    GroupRefused,
    create_group,
    delete_group,
    deletion_of,
    rename_group,
    set_joined_by_default,
)
from acl.people.people import PeopleRefused, take_out_of_group
from acl.people.spaces import set_open
from acl.web.api_views import GroupAdminView
from acl.web.problems import Conflict, Refusals, Unprocessable, refusals_as_problems
from acl.web.request_callers import acting_admin, groups_known, people_known
from acl.web.serializers import Flag, StrictSerializer, Text, page_serializer

_REFUSALS: Refusals = {
    GroupRefused: lambda refused: Unprocessable(str(refused)),
    PeopleRefused: lambda refused: Conflict(str(refused)),
}


class GroupSerializer(serializers.ModelSerializer[Group]):
    """A group with its default and the numbers of its active members and its spaces."""

    open = serializers.BooleanField(
        source="is_open",
        help_text="Its members may use every integration that is not restricted.",
    )
    joined_by_default = serializers.BooleanField(
        source="is_joined", help_text="New people join it, by whatever door they come."
    )
    members = serializers.IntegerField()
    spaces = serializers.IntegerField(source="places")

    class Meta:
        model = Group
        fields = ("id", "name", "open", "joined_by_default", "members", "spaces")


GroupPageSerializer = page_serializer(GroupSerializer, "GroupPage", "A page of groups by name.")


class CreateGroupSerializer(StrictSerializer):
    """A new group, without members."""

    name = Text(max_length=LONGEST_NAME)
    open = Flag(default=False)


class ChangeGroupSerializer(StrictSerializer):
    """Changes of a group; what is left out stays."""

    name = Text(max_length=LONGEST_NAME, required=False)
    open = Flag(required=False)
    joined_by_default = Flag(required=False)


class GroupDeletionSerializer(serializers.Serializer[Any]):
    """Effects of deleting a group."""

    members = serializers.IntegerField(help_text="Active people who lose what it was granted.")
    without_group = serializers.IntegerField(help_text="Those who are in no other group.")
    keys = serializers.ListField(
        child=serializers.CharField(), help_text="Names of the keys that are revoked."
    )
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="Numbers of deleted rows by table."
    )


MembersSerializer = page_serializer(PersonSerializer, "Members", "A page of members by name.")


class AddMembersSerializer(StrictSerializer):
    """People to add: all of them, or nobody."""

    users = serializers.ListField(
        child=Text(max_length=150),
        min_length=1,
        max_length=MOST_ENTRIES,
        help_text="User names of active people.",
    )


class GroupsView(GroupAdminView):
    """Groups: list and create."""

    @extend_schema(
        operation_id="list_groups",
        tags=["People"],
        summary="List groups",
        parameters=[PageSerializer],
        responses={200: GroupPageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of groups by name."""
        query = page_of(request)
        groups = _groups(request).filter(name__icontains=query["query"]).order_by("name", "pk")
        return Response(GroupPageSerializer(paged(groups, query)).data)

    @extend_schema(
        operation_id="create_group",
        tags=["People"],
        summary="Create a group",
        request=CreateGroupSerializer,
        responses={201: GroupSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a group without members."""
        serializer = CreateGroupSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data, by = serializer.validated_data, acting_admin(request)
        with refusals_as_problems(_REFUSALS):
            group = create_group(by=by, name=data["name"], is_open=data["open"])
        return Response(GroupSerializer(_groups(request).get(pk=group.pk)).data, status=201)


class GroupView(GroupAdminView):
    """A group."""

    @extend_schema(
        operation_id="get_group",
        tags=["People"],
        summary="Get a group",
        responses={200: GroupSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return the group."""
        return Response(GroupSerializer(get_object_or_404(_groups(request), pk=pk)).data)

    @extend_schema(
        operation_id="change_group",
        tags=["People"],
        summary="Rename a group or change its default",
        request=ChangeGroupSerializer,
        responses={200: GroupSerializer},
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change the name or the default, with effect from the next request."""
        group = get_object_or_404(_groups(request), pk=pk)
        serializer = ChangeGroupSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data, by = serializer.validated_data, acting_admin(request)
        with refusals_as_problems(_REFUSALS):
            if "name" in data:
                rename_group(by=by, group=group, name=data["name"])
            if "open" in data:
                set_open(by=by, group=group, is_open=data["open"])
            if "joined_by_default" in data:
                set_joined_by_default(by=by, group=group, joined=data["joined_by_default"])
        return Response(GroupSerializer(_groups(request).get(pk=pk)).data)

    @extend_schema(
        operation_id="delete_group",
        tags=["People"],
        summary="Delete a group",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the group with its spaces, rules, grants and history.

        Its members stay, without what it was granted. Keys of this group alone are revoked.
        """
        group = get_object_or_404(_groups(request), pk=pk)
        with refusals_as_problems(_REFUSALS):
            delete_group(by=acting_admin(request), group=group)
        return Response(status=204)


class GroupDeletionView(GroupAdminView):
    """Preview of a group's deletion."""

    @extend_schema(
        operation_id="preview_group_deletion",
        tags=["People"],
        summary="Preview a deletion",
        responses={200: GroupDeletionSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return what goes with the group. Nothing changes."""
        going = deletion_of(get_object_or_404(_groups(request), pk=pk))
        return Response(
            {
                "members": going.members,
                "without_group": going.without_group,
                "keys": [key.name for key in going.keys],
                "rows": going.rows,
            }
        )


class MembersView(GroupAdminView):
    """Members of a group: list and add."""

    @extend_schema(
        operation_id="list_members",
        tags=["People"],
        summary="List members",
        parameters=[PageSerializer],
        responses={200: MembersSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return a page of members by user name, deactivated ones included."""
        group, query = get_object_or_404(_groups(request), pk=pk), page_of(request)
        members = User.objects.filter(groups=group, username__icontains=query["query"])
        members = members.prefetch_related("groups").order_by("username", "pk")
        return Response(MembersSerializer(paged(members, query), context={"request": request}).data)

    @extend_schema(
        operation_id="add_members",
        tags=["People"],
        summary="Add people to a group",
        request=AddMembersSerializer,
        responses={204: None},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Add all the named people, or nobody. Who is a member already stays one."""
        group = get_object_or_404(_groups(request), pk=pk)
        serializer = AddMembersSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        names = serializer.validated_data["users"]
        people = list(people_known(request).filter(username__in=names, is_active=True))
        missing = sorted({*names} - {person.username for person in people})
        if missing:
            missing_names = ", ".join(missing[:20])
            raise exceptions.ValidationError(
                {"users": f"No active user is called: {missing_names}."}
            )
        with refusals_as_problems(_REFUSALS):
            add_all(by=acting_admin(request), group=group, people=people)
        return Response(status=204)


class MemberView(GroupAdminView):
    """A membership."""

    @extend_schema(
        operation_id="remove_member",
        tags=["People"],
        summary="Remove a member",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int, user: str) -> Response:
        """End the membership, with effect from the next request."""
        group = get_object_or_404(_groups(request), pk=pk)
        person = get_object_or_404(User, username=user, groups=group)
        with refusals_as_problems(_REFUSALS):
            take_out_of_group(by=acting_admin(request), person=person, group=group)
        return Response(status=204)


def _groups(request: Request) -> QuerySet[Group]:
    return Group.objects.filter(groups_known(request, "pk")).annotate(
        is_open=Coalesce("policy__open_default", False),
        is_joined=Coalesce("policy__joined_by_default", False),
        members=Count("user", filter=Q(user__is_active=True), distinct=True),
        places=Count("spaces", distinct=True),
    )
