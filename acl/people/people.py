"""People: who there is, who may sign in, and which groups they belong to.

Leaving a group or being deactivated holds from the next request on: rights are asked of the
database each time, and so is whether a session's owner is active. A deactivated person's sessions
are removed all the same, or they would come back to life with the person.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key
from acl.models import ApiKey, Invitation, ServiceAccount
from acl.oauth.connections import end_connections_of
from acl.rights.delegation import (
    Actor,
    DelegationRefused,
    check_group,
    check_groups,
    check_member,
    check_person,
    hold_credential,
    person_behind,
)
from acl.visible_text.pieces import check_plain_name


class PeopleRefused(Exception):
    """Refused change: the admin may not make it."""


@dataclass(frozen=True, slots=True)
class PeopleFilter:
    """Filters of the list of people."""

    words: str = ""
    group: str = ""
    show: str = ""


def list_people(filters: PeopleFilter) -> QuerySet[User]:
    """Return matching people and service accounts by name, with `two_factor` and groups."""
    codes = Authenticator.objects.filter(user=OuterRef("pk"), type=Authenticator.Type.TOTP)
    people = User.objects.annotate(two_factor=Exists(codes)).prefetch_related("groups")
    people = people.select_related("service_account", "language")
    if filters.words:
        fields = ("username", "first_name", "last_name", "email")
        likes = (Q(**{f"{field}__icontains": filters.words}) for field in fields)
        combined = Q()
        for condition in likes:
            combined |= condition
        people = people.filter(combined)
    if filters.group:
        people = people.filter(groups__name=filters.group)
    if filters.show:
        people = people.filter(**SHOWN[filters.show])
    return people.order_by("username", "pk")


SHOWN: dict[str, dict[str, object]] = {
    "active": {"is_active": True},
    "inactive": {"is_active": False},
    "admins": {"is_staff": True},
    "no-codes": {"is_active": True, "two_factor": False, "service_account": None},
    "never": {"last_login": None, "service_account": None},
    "programs": {"service_account__isnull": False},
}


def is_address_taken(email: str) -> bool:
    """Return True if an account has the address, confirmed or not."""
    return (
        User.objects.filter(email__iexact=email).exists()
        or EmailAddress.objects.filter(email=email.lower()).exists()
    )


def is_name_taken(name: str) -> bool:
    """Return True if some account has the name, in any case, or has it as its address: pages and
    the audit log would show two accounts that look like one."""
    return User.objects.filter(username__iexact=name).exists() or is_address_taken(name)


def person_to_link(verified: Iterable[str]) -> User | None:
    """Return the account, locked, that a provider may open by these addresses.

    The address must be confirmed here as well, and the account must not be staff's: whoever can
    make an address at the provider would else be an admin here. A program signs in nowhere.
    """
    addresses = [address.lower() for address in verified]
    people = User.objects.select_for_update(of=("self",)).filter(
        pk__in=EmailAddress.objects.filter(email__in=addresses, verified=True).values("user"),
        is_active=True,
        is_staff=False,
        is_superuser=False,
        service_account=None,
    )
    return people.order_by("pk").first()


@transaction.atomic
def deactivate(*, by: Actor, person: User) -> None:
    """Deactivate a person: end their sessions and the invitations they sent."""
    if (actor := person_behind(by)) is not None and actor.pk == person.pk:
        raise PeopleRefused(_("You cannot deactivate yourself. Ask another admin."))
    check_power(by, person)
    if not User.objects.filter(pk=person.pk, is_active=True).update(is_active=False):
        return
    sessions = end_sessions(person)
    sent = Invitation.objects.filter(by=person, accepted_at=None, withdrawn_at=None)
    details = {"sessions": sessions, "invitations": sent.update(withdrawn_at=Now())}
    record(
        by=by, action="person.deactivated", target=person.username, details=details,
        groups=groups_of(person),
    )  # fmt: skip


@transaction.atomic
def reactivate(*, by: Actor, person: User) -> None:
    """Reactivate a person, with the groups that they had."""
    check_power(by, person)
    if User.objects.filter(pk=person.pk, is_active=False).update(is_active=True):
        groups = groups_of(person)
        record(by=by, action="person.reactivated", target=person.username, groups=groups)


@transaction.atomic
def add_to_group(*, by: Actor, person: User, group: Group) -> None:
    """Add a person to a group, with effect from the next request."""
    check_power(by, person, joins=[group])
    if not person.groups.filter(pk=group.pk).exists():
        person.groups.add(group)
        _record_group(by, "person.joined_group", person, group)


@transaction.atomic
def take_out_of_group(*, by: Actor, person: User, group: Group) -> None:
    """Remove a person from a group, with effect from the next request."""
    try:
        check_member(by, person)
        check_group(by, group)
    except DelegationRefused as refused:
        raise PeopleRefused(str(refused)) from refused
    if person.groups.filter(pk=group.pk).exists():
        person.groups.remove(group)
        _record_group(by, "person.left_group", person, group)


@transaction.atomic
def turn_codes_off(*, by: User | None, person: User) -> None:
    """Turn off the codes of a person who lost phone and recovery codes.

    `by` is None for the command, which is for the case that the only admin lost theirs.
    """
    if by is not None:
        if by.pk == person.pk:
            raise PeopleRefused(
                _("Turn off your own two-factor authentication under Your account.")
            )
        check_power(by, person)
    removed, _by_model = Authenticator.objects.filter(user=person).delete()
    if removed:
        record(by=by, action="person.two_factor_off", target=person.username)


def groups_of(person: User) -> set[int]:
    """Return the groups that administer the person; none is the installation."""
    return set(person.groups.values_list("pk", flat=True))


def end_sessions(person: User) -> int:
    """Delete all sessions of a person, end their connected clients, and return the number of
    sessions.

    The user id is inside the session data, so all sessions are read. Deactivation is rare.
    """
    running = Session.objects.filter(expire_date__gt=Now()).iterator()
    theirs = [
        session.pk
        for session in running
        if session.get_decoded().get(SESSION_KEY) == str(person.pk)
    ]
    Session.objects.filter(pk__in=theirs).delete()
    end_connections_of(person)
    return len(theirs)


def check_power(by: Actor, person: User, *, joins: Iterable[Group] = ()) -> None:
    """Raise PeopleRefused if the person has more power than `by`, or would gain more."""
    try:
        check_person(by, person)
        check_groups(by, joins)
    except DelegationRefused as refused:
        raise PeopleRefused(str(refused)) from refused


def _record_group(by: Actor, action: str, person: User, group: Group) -> None:
    details = {"group": group.name}
    record(by=by, action=action, target=person.username, details=details, groups=[group.pk])


# Service accounts: users that are programs, without a password or a sign-in.


class ServiceAccountRefused(Exception):
    """Refused name of a service account."""


@transaction.atomic
def create_service_account(
    *, by: Actor, name: str, groups: Sequence[Group], description: str = ""
) -> User:
    """Create a service account in the groups. Nobody can sign in as it.

    Raises DelegationRefused where membership would bring power that `by` does not have.
    """
    hold_credential(by)
    check_groups(by, groups)
    user = User(username=User.normalize_username(name))
    user.set_unusable_password()
    try:
        user.full_clean()
        check_plain_name(user.username)
    except ValidationError as problem:
        raise ServiceAccountRefused(" ".join(problem.messages)) from problem
    if is_name_taken(user.username):
        raise ServiceAccountRefused(_("This name or address is already taken."))
    user.save()
    user.groups.add(*groups)
    ServiceAccount.objects.create(user=user, description=description)
    record(
        by=by,
        action="service_account.created",
        target=name,
        details={"groups": [group.name for group in groups], "description": description},
        groups=[group.pk for group in groups],
    )
    return user


@transaction.atomic
def create_account_with_key(
    *,
    by: Actor,
    account: str,
    description: str,
    name: str,
    groups: Sequence[Group],
    scopes: list[str],
    acts_for_users: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Create a service account and its first key together; return the key and its text."""
    owner = create_service_account(by=by, name=account, groups=groups, description=description)
    return create_key(
        by=by,
        name=name,
        groups=groups,
        scopes=scopes,
        owner=owner,
        acts_for_users=acts_for_users,
        expires_at=expires_at,
    )


class PeopleOnly:
    """Password validator that refuses service accounts.

    The database refuses them, too; this shows the reason beside the field.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Refuse every password of a service account."""
        if user is not None and user.pk and ServiceAccount.objects.filter(pk=user.pk).exists():
            raise ValidationError(self.get_help_text(), code="service_account")

    def get_help_text(self) -> str:
        """Return the rule's help text."""
        return _("A service account has no password: it signs in with API keys.")


# A person's data: all of it as JSON, and its removal, by rules over the tables' own declarations.
# A row that belongs to a person goes with them, unless its model says in `erased` which columns
# are emptied instead: then it stays as a figure, of an account without a name. Models whose texts
# name people say so in `names_people`. So a new table is erased before anybody has thought of it.
_HIDDEN = re.compile("password|digest|secret|token|sealed|^data$|session_key")
_SIGN_INS = (AccessAttempt, AccessFailureLog, AccessLog)


@transaction.atomic
def export_person(*, by: Actor, person: User) -> dict[str, list[dict[str, Any]]]:
    """Return all rows about a person by table, without what is secret; it is recorded."""
    check_power(by, person)
    rows: dict[str, list[dict[str, Any]]] = {"auth_user": _shown(User.objects.filter(pk=person.pk))}
    for model, column, _deletes in _references():
        found_rows = _shown(model._base_manager.filter(**{column: person}))
        table_rows = rows.setdefault(model._meta.db_table, [])
        table_rows += [row for row in found_rows if row not in table_rows]
    names = Q(username__in=_names_of(person))
    rows |= {model._meta.db_table: _shown(model.objects.filter(names)) for model in _SIGN_INS}
    groups = groups_of(person)
    record(by=by, action="person.exported", target=person.username, groups=groups)
    return {table: of_person for table, of_person in rows.items() if of_person}


@transaction.atomic
def erase_person(*, by: Actor, person: User) -> None:
    """Remove a person's name, addresses, messages and what is theirs.

    Turns, calls and tokens go on counting. The audit log keeps the names that it has: it is
    append-only, and goes to an archive.
    """
    if (actor := person_behind(by)) is not None and actor.pk == person.pk:
        raise PeopleRefused(_("You cannot remove yourself. Ask another admin."))
    check_power(by, person)
    end_sessions(person)
    names, groups, instead = _names_of(person), groups_of(person), f"removed-{person.pk}"
    Invitation.objects.filter(Q(person=person) | Q(email__in=names)).delete()
    for model in _SIGN_INS:
        model.objects.filter(username__in=names).delete()
    for model, column, deletes in _references():
        if deletes and not hasattr(model, "erased"):
            model._base_manager.filter(**{column: person}).delete()
    for model in apps.get_models():
        for lookup, values in getattr(model, "erased", {}).items():
            if values:
                keys = model._base_manager.filter(**{lookup: person}).values("pk")
                model._base_manager.filter(pk__in=keys).update(**values)
    replace_names(names, instead)
    person.username, person.first_name, person.last_name, person.email = instead, "", "", ""
    person.is_active = person.is_staff = person.is_superuser = False
    person.last_login = None
    person.password = UNUSABLE_PASSWORD_PREFIX
    person.save()
    with connection.cursor() as cursor:
        cursor.execute("SELECT acl_forget_name(%s, %s)", [person.pk, instead])
    record(by=by, action="person.erased", target=instead, groups=groups)


def _references() -> Iterator[tuple[type[models.Model], str, bool]]:
    """Yield each column that refers to people, and whether its row would go with the person."""
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.fields:
            if field.remote_field is not None and field.related_model is User:
                deletes = field.remote_field.on_delete is models.CASCADE
                yield model, field.name, deletes


def _shown(rows: QuerySet[Any]) -> list[dict[str, Any]]:
    names = [
        field.attname
        for field in rows.model._meta.concrete_fields
        if not isinstance(field, models.BinaryField) and not _HIDDEN.search(field.name)
    ]
    return list(rows.order_by("pk").values(*names))


def _names_of(person: User) -> list[str]:
    """Return the names and addresses that are the person's alone."""
    addresses = EmailAddress.objects.filter(user=person).values_list("email", flat=True)
    full_name = person.get_full_name() if person.first_name and person.last_name else ""
    names = {person.username, person.email, full_name, *addresses}
    return sorted(filter(None, names), key=len, reverse=True)


def replace_names(names: list[str], instead: str) -> None:
    """Put another name where texts and JSON name the person, as whole words."""
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
    for model in apps.get_models():
        for column in getattr(model, "names_people", ()):
            field = model._meta.get_field(column)
            statement = _MENTION.format(
                table=model._meta.db_table, column=column, type=field.db_type(connection)
            )
            with connection.cursor() as cursor:
                cursor.execute(statement, {"pattern": pattern, "instead": instead})


_MENTION = """
UPDATE {table} SET
  "{column}" = regexp_replace("{column}"::text, %(pattern)s, %(instead)s, 'g')::{type}
WHERE "{column}"::text ~ %(pattern)s
"""
