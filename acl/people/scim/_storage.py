"""People and groups as SCIM resources, read from the database and changed by the services."""

import hashlib
import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, cast

from django.contrib.auth import models as auth
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.db.models.functions import Now
from scim2_models import (
    InvalidValueException,
    Meta,
    NotFoundException,
    NotImplementedException,
    PreconditionFailedException,
    Reference,
    Resource,
    ResourceType,
    ResponseParameters,
    SearchRequest,
    UniquenessException,
)
from scim2_models.path import CompareOperator, Comparison
from scim2_server.storage import ScimStorage, SearchPage

from acl.models import ScimRecord
from acl.people._provisioning import (
    ProvisionedAddress,
    change_person,
    deprovision_person,
    provision_person,
)
from acl.people.groups import (
    create_group,
    delete_group,
    is_group_name_taken,
    rename_group,
)
from acl.people.languages import provide_language, provided_tag
from acl.people.people import add_to_group, deactivate, reactivate, take_out_of_group
from acl.people.scim._resources import Email, Group, GroupMember, Name, User, UserGroup
from acl.rights.delegation import check_installation, check_person
from acl.rights.delegation.authority import KeyHolder

MOST_MEMBERS = 5_000


class DatabaseStorage(ScimStorage):
    """The people and groups of this installation, for the holder of one key."""

    def __init__(self, holder: KeyHolder) -> None:
        self._holder = holder

    def operation(self) -> AbstractContextManager[None]:
        """Enclose an operation: all of it happens, or nothing."""
        return cast(AbstractContextManager[None], transaction.atomic())

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        """Return a person or a group."""
        if resource_type.name == "User":
            return _user(self._find_person(resource_id))
        return _group(self._find_group(resource_id))

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        """Return a page. Without a filter or an order, the database pages."""
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search people or groups, not both at once.")
        is_user = resource_types[0].name == "User"
        rows: QuerySet[Any] = self._people() if is_user else self._groups()
        start, count = search_request.start_index_0 or 0, search_request.count
        stop = None if count is None else start + count
        if search_request.filter is None and search_request.sort_by is None:
            page = rows.order_by("pk")[start:stop]
            return SearchPage(rows.count(), [_user(n) if is_user else _group(n) for n in page])
        rows = _narrowed(rows, search_request.filter, is_user=is_user)
        resources = [_user(row) if is_user else _group(row) for row in rows.order_by("pk")]
        if search_request.filter is not None:
            resources = [
                resource for resource in resources if search_request.filter.match(resource)
            ]
        if search_request.sort_by is not None:
            resources = _sorted(resources, search_request)
        return SearchPage(len(resources), [*resources[start:stop]])

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        """Create a person without a password, or a group to which nothing is granted."""
        if isinstance(resource, User):
            return self._create_user(resource)
        return self._create_group(cast(Group, resource))

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> Resource[Any]:
        """Change a person or a group to what the resource says."""
        stored = self._stored(resource_type, str(resource.id), expected_version)
        if isinstance(resource, User):
            self._change_user(cast(auth.User, stored), resource)
        else:
            self._change_group(cast(auth.Group, stored), cast(Group, resource))
        return self.get(resource_type, str(resource.id))

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,
    ) -> None:
        """Delete a group, or remove a person: a nameless account stays for the history."""
        stored = self._stored(resource_type, resource_id, expected_version)
        if isinstance(stored, auth.Group):
            delete_group(by=self._holder, group=stored)
            return
        deprovision_person(by=self._holder, person=stored)
        ScimRecord.objects.update_or_create(user=stored, defaults={"deleted_at": Now()})

    def _stored(
        self, resource_type: ResourceType, resource_id: str, version: str | None
    ) -> auth.User | auth.Group:
        """Lock the row, and compare its version."""
        is_user = resource_type.name == "User"
        rows: QuerySet[Any] = auth.User.objects.all() if is_user else auth.Group.objects.all()
        list(rows.filter(pk=_key(resource_id)).select_for_update(no_key=True))
        row = self._find_person(resource_id) if is_user else self._find_group(resource_id)
        now = _user(row) if isinstance(row, auth.User) else _group(row)
        if version is not None and now.meta is not None and now.meta.version != version:
            raise PreconditionFailedException
        return row

    def _create_user(self, resource: User) -> Resource[Any]:
        check_installation(self._holder)
        person = provision_person(by=self._holder, username=str(resource.user_name))
        ScimRecord.objects.update_or_create(user=person, defaults={"deleted_at": None})
        person = self._find_person(str(person.pk))
        self._change_user(person, resource, is_new=True)
        return _user(self._find_person(str(person.pk)))

    def _change_user(self, person: auth.User, resource: User, *, is_new: bool = False) -> None:
        if not is_new and not self._holder.is_of_the_installation:
            check_person(self._holder, person)
        name = resource.name or Name()
        change_person(
            by=self._holder,
            person=person,
            username=str(resource.user_name),
            first_name=name.given_name or "",
            last_name=name.family_name or "",
            addresses=[
                ProvisionedAddress(str(email.value), bool(email.primary))
                for email in resource.emails or []
                if email.value
            ],
            is_new=is_new,
        )
        provide_language(person=person, tag=resource.preferred_language or "")
        is_active = resource.active is not False
        if is_active != person.is_active:
            change = reactivate if is_active else deactivate
            change(by=self._holder, person=person)
        _note(resource, user=person)

    def _create_group(self, resource: Group) -> Resource[Any]:
        check_installation(self._holder)
        name = str(resource.display_name)
        if is_group_name_taken(name):
            raise UniquenessException(detail="There is already a group with this name.")
        group = create_group(by=self._holder, name=name)
        self._change_group(group, resource)
        return _group(self._find_group(str(group.pk)))

    def _change_group(self, group: auth.Group, resource: Group) -> None:
        name = str(resource.display_name)
        if is_group_name_taken(name, besides=group):
            raise UniquenessException(detail="There is already a group with this name.")
        rename_group(by=self._holder, group=group, name=name)
        members = self._members(resource.members or [])
        now = {person.pk: person for person in self._people().filter(groups=group)}
        for pk in sorted(members.keys() - now.keys()):
            add_to_group(by=self._holder, person=members[pk], group=group)
        for pk in sorted(now.keys() - members.keys()):
            take_out_of_group(by=self._holder, person=now[pk], group=group)
        _note(resource, group=group)

    def _people(self) -> QuerySet[auth.User]:
        """Return the people that the key administers: of its groups, or everybody."""
        people = auth.User.objects.filter(service_account=None)
        people = people.exclude(scim__deleted_at__isnull=False)
        mine = auth.Group.objects.filter(self._holder.administered("pk"))
        if not self._holder.is_of_the_installation:
            people = people.filter(pk__in=auth.User.objects.filter(groups__in=mine).values("pk"))
        # Beside `groups`, by which the services judge: what the key may know of.
        joined = Prefetch("groups", queryset=mine, to_attr="known_groups")
        return people.select_related("scim", "language").prefetch_related(
            joined, "emailaddress_set"
        )

    def _groups(self) -> QuerySet[auth.Group]:
        people = auth.User.objects.filter(service_account=None)
        visible = people.exclude(scim__deleted_at__isnull=False).order_by("pk")
        members = Prefetch("user_set", queryset=visible, to_attr="shown_members")
        groups = auth.Group.objects.filter(self._holder.administered("pk"))
        return groups.select_related("scim").prefetch_related(members)

    def _find_person(self, resource_id: str) -> auth.User:
        person = self._people().filter(pk=_key(resource_id)).first()
        if person is None:
            raise NotFoundException(detail="There is no such user.")
        return person

    def _find_group(self, resource_id: str) -> auth.Group:
        group = self._groups().filter(pk=_key(resource_id)).first()
        if group is None:
            raise NotFoundException(detail="There is no such group.")
        return group

    def _members(self, members: list[GroupMember]) -> dict[int, auth.User]:
        if len(members) > MOST_MEMBERS:
            raise InvalidValueException(
                detail=f"A group has at most {MOST_MEMBERS:,} members here."
            )
        keys = {_key(str(member.value)) for member in members}
        people = {person.pk: person for person in self._people().filter(pk__in=keys)}
        if len(people) != len(keys):
            raise InvalidValueException(detail="members: no such user, or not one of ours.")
        return people


def _key(resource_id: str) -> int:
    """Return a row's key; 0, which no row has, for anything else."""
    plain = resource_id.isascii() and resource_id.isdigit() and len(resource_id) < 10
    return int(resource_id) if plain else 0


def _user(person: auth.User) -> User:
    record: ScimRecord | None = getattr(person, "scim", None)
    addresses = list(cast(Iterable[Any], person.emailaddress_set.all()))  # type: ignore[attr-defined]
    emails = [
        Email(value=item.email, primary=item.primary)
        for item in sorted(addresses, key=lambda item: item.pk)
    ]
    if not emails and person.email:
        emails = [Email(value=person.email, primary=True)]
    full = person.get_full_name()
    resource = User(
        id=str(person.pk),
        external_id=(record.external_id or None) if record else None,
        user_name=person.username,
        name=Name(
            given_name=person.first_name or None,
            family_name=person.last_name or None,
        )
        if full
        else None,
        display_name=full or None,
        active=person.is_active,
        preferred_language=provided_tag(person) or None,
        emails=emails or None,
        groups=[
            UserGroup(value=str(item.pk), display=item.name)
            for item in sorted(getattr(person, "known_groups", ()), key=lambda item: item.pk)
        ]
        or None,
    )
    return cast(User, _versioned(resource, "User", record, person.date_joined))


def _group(group: auth.Group) -> Group:
    record: ScimRecord | None = getattr(group, "scim", None)
    members = cast(list[auth.User], getattr(group, "shown_members", []))
    resource = Group(
        id=str(group.pk),
        external_id=(record.external_id or None) if record else None,
        display_name=group.name,
        members=[
            GroupMember(value=str(member.pk), ref=Reference(f"Users/{member.pk}"))
            for member in members
        ]
        or None,
    )
    return cast(Group, _versioned(resource, "Group", record, None))


def _versioned(
    resource: Resource[Any], kind: str, record: ScimRecord | None, created: datetime | None
) -> Resource[Any]:
    """Add the meta data. The version is a digest of all that the resource says."""
    text = json.dumps(resource.model_dump(), sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    resource.meta = Meta(
        resource_type=kind,
        created=created or (record.created_at if record else None),
        last_modified=record.modified_at if record else created,
        version=f'W/"{digest}"',
    )
    return resource


def _note(resource: Resource[Any], **subject: Any) -> None:
    external = (resource.external_id or "")[:200]
    ScimRecord.objects.update_or_create(**subject, defaults={"external_id": external})


def _narrowed(rows: QuerySet[Any], search_filter: Any, *, is_user: bool) -> QuerySet[Any]:
    """Narrow the rows to those that an equality names: clients look up one at a time."""
    node = search_filter.ast if search_filter is not None else None
    if not isinstance(node, Comparison) or node.op != CompareOperator.eq:
        return rows
    if not isinstance(node.value, str):
        return rows
    columns = _COLUMNS["user" if is_user else "group"]
    column = columns.get(str(node.attr_path).rpartition(":")[2].lower())
    if column is None:
        return rows
    if column == "pk":
        return rows.filter(pk=_key(node.value))
    return rows.filter(**{column: node.value})


_COLUMNS = {
    "user": {
        "username": "username__iexact",
        "id": "pk",
        "externalid": "scim__external_id",
    },
    "group": {"displayname": "name__iexact", "id": "pk", "externalid": "scim__external_id"},
}


def _sorted(resources: list[Any], request: SearchRequest[Any]) -> list[Any]:
    """Sort by the client's attribute; resources without it come last."""
    descending = request.sort_order == SearchRequest.SortOrder.descending

    def key(resource: Any) -> tuple[bool, Any]:
        value = request.sort_value(resource)
        return value is None, "" if value is None else value

    return sorted(resources, key=key, reverse=descending)
