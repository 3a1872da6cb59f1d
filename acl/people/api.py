"""REST endpoints of people and invitations, for admins."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import Invitation
from acl.people._invitations import invite
from acl.people.languages import language_of
from acl.people.people import (
    PeopleFilter,
    PeopleRefused,
    deactivate,
    erase_person,
    list_people,
    reactivate,
)
from acl.rights.delegation.authority import KeyHolder
from acl.web.api_views import GroupAdminView
from acl.web.problems import Conflict, Refusals, refusals_as_problems
from acl.web.request_callers import acting_admin, groups_known, people_known, principal_of
from acl.web.serializers import Flag, StrictSerializer, Text, page_serializer

MOST_ROWS, USUAL_ROWS = 200, 50
_REFUSALS: Refusals = {PeopleRefused: lambda refused: Conflict(str(refused))}


class PageSerializer(StrictSerializer):
    """Words and place of a page."""

    query = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    limit = serializers.IntegerField(default=USUAL_ROWS, min_value=1, max_value=MOST_ROWS)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000)


def page_of(request: Request) -> dict[str, Any]:
    """Return the validated query of a list."""
    serializer = PageSerializer(data=request.query_params.dict())
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def paged(rows: QuerySet[Any], query: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the rows, as lists answer."""
    limit, offset, total = query["limit"], query["offset"], rows.count()
    return {
        "items": rows[offset : offset + limit],
        "total": total,
        "has_more": offset + limit < total,
        "limit": limit,
        "offset": offset,
    }


class PersonSerializer(serializers.ModelSerializer[User]):
    """A person or a service account."""

    user = serializers.CharField(source="username")
    name = serializers.CharField(source="get_full_name", help_text="The full name, if known.")
    active = serializers.BooleanField(source="is_active")
    admin = serializers.BooleanField(source="is_staff")
    groups = serializers.SerializerMethodField()
    language = serializers.SerializerMethodField(
        help_text="Language of their notifications and mails, such as `de`."
    )

    class Meta:
        model = User
        fields = ("user", "name", "email", "active", "admin", "groups", "language", "last_login")

    def get_language(self, person: User) -> str:
        """Return the person's language, or that of PEGBOARD_LANGUAGE."""
        return language_of(person)

    def get_groups(self, person: User) -> list[str]:
        """Return the names of the person's groups, to a key those that it may know of."""
        principal, groups = principal_of(self.context["request"]), person.groups.all()
        if isinstance(principal, KeyHolder):
            return sorted(group.name for group in groups if principal.knows_of(group.pk))
        return sorted(group.name for group in groups)


PeoplePageSerializer = page_serializer(
    PersonSerializer, "PeoplePage", "A page of people by user name."
)


class ChangePersonSerializer(StrictSerializer):
    """Change of a person's state."""

    active = Flag(help_text="False ends sessions and keys, and refuses sign-in.")


class InviteSerializer(StrictSerializer):
    """An address to invite, and what the person will be."""

    email = serializers.EmailField(max_length=254)
    groups = serializers.ListField(
        child=Text(max_length=150), required=False, default=list, max_length=200
    )
    role = serializers.ChoiceField(Invitation.Role.choices, default=Invitation.Role.MEMBER)


class InvitedSerializer(serializers.ModelSerializer[Invitation]):
    """An invitation with its link, which is told only once. No mail is sent."""

    groups = serializers.SerializerMethodField()
    link = serializers.SerializerMethodField()

    class Meta:
        model = Invitation
        fields = ("email", "role", "groups", "expires_at", "link")

    def get_groups(self, invitation: Invitation) -> list[str]:
        """Return the names of the groups."""
        return sorted(group.name for group in invitation.groups.all())

    def get_link(self, invitation: Invitation) -> str:
        """Return the link."""
        return str(self.context["link"])


class PeopleView(GroupAdminView):
    """The list of people."""

    @extend_schema(
        operation_id="list_people",
        tags=["People"],
        summary="List people",
        parameters=[PageSerializer],
        responses={200: PeoplePageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of people and service accounts by user name."""
        query = page_of(request)
        people = list_people(PeopleFilter(words=query["query"]))
        people = people.filter(pk__in=people_known(request).values("pk"))
        return Response(
            PeoplePageSerializer(paged(people, query), context={"request": request}).data
        )


class PersonView(GroupAdminView):
    """A person."""

    @extend_schema(
        operation_id="get_person",
        tags=["People"],
        summary="Get a person",
        responses={200: PersonSerializer},
    )
    def get(self, request: Request, user: str) -> Response:
        """Return the person."""
        person = get_object_or_404(people_known(request), username=user)
        return Response(PersonSerializer(person, context={"request": request}).data)

    @extend_schema(
        operation_id="change_person",
        tags=["People"],
        summary="Deactivate or reactivate a person",
        request=ChangePersonSerializer,
        responses={200: PersonSerializer},
    )
    def patch(self, request: Request, user: str) -> Response:
        """Deactivate the person, which ends sessions and keys at once, or reactivate them."""
        person = get_object_or_404(people_known(request), username=user)
        serializer = ChangePersonSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        change = reactivate if serializer.validated_data["active"] else deactivate
        with refusals_as_problems(_REFUSALS):
            change(by=acting_admin(request), person=person)
        person.refresh_from_db()
        return Response(PersonSerializer(person, context={"request": request}).data)

    @extend_schema(
        operation_id="remove_person",
        tags=["People"],
        summary="Remove a person, with name, addresses and messages",
        responses={204: None},
    )
    def delete(self, request: Request, user: str) -> Response:
        """Remove what is the person's for good. Turns and calls go on counting, without a name."""
        person = get_object_or_404(people_known(request), username=user)
        with refusals_as_problems(_REFUSALS):
            erase_person(by=acting_admin(request), person=person)
        return Response(status=204)


class InvitationsView(GroupAdminView):
    """Invitations."""

    @extend_schema(
        operation_id="invite",
        tags=["People"],
        summary="Invite a person",
        request=InviteSerializer,
        responses={201: InvitedSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create an invitation and return its link, this once. Earlier ones to the address end."""
        serializer = InviteSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data, by = serializer.validated_data, acting_admin(request)
        groups = _groups(request, data["groups"])
        with refusals_as_problems(_REFUSALS):
            invitation, raw = invite(by=by, email=data["email"], groups=groups, role=data["role"])
        link = request.build_absolute_uri(reverse("invitation", args=[raw]))
        body = InvitedSerializer(invitation, context={"link": link}).data
        return Response(body, status=201)


def _groups(request: Request, names: list[str]) -> list[Group]:
    groups = list(Group.objects.filter(groups_known(request, "pk"), name__in=names))
    missing = sorted({*names} - {group.name for group in groups})
    if missing:
        missing_names = ", ".join(missing[:20])
        raise exceptions.ValidationError({"groups": f"No group is called: {missing_names}."})
    return groups
