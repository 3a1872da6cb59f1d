"""Invitations: sent, withdrawn and accepted. They are the one way to an account.

The link is random and shown once; what is stored is a digest. Whoever has the link can accept, so
it ends after a while, after one use, and with the admin who sent it or the key that they used.
"""

import csv
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import current_holder, digest_of
from acl.models import ApiKey, Invitation
from acl.models.api_key import IN_FORCE
from acl.people.groups import join_default_groups
from acl.people.people import PeopleRefused, add_to_group, is_address_taken
from acl.platform.database_work import database_now
from acl.rights.delegation import (
    Actor,
    DelegationRefused,
    check_invitation,
    hold_credential,
    person_behind,
)
from acl.rights.delegation.authority import KeyHolder
from acl.visible_text.pieces import check_plain_name

RANDOM_BYTES = 32
OPEN = Q(accepted_at=None, withdrawn_at=None)


@transaction.atomic
def invite(
    *, by: Actor, email: str, groups: Iterable[Group], role: str = Invitation.Role.MEMBER
) -> tuple[Invitation, str]:
    """Create an invitation and return it with its link's secret, which is not stored.

    Earlier invitations to the address end.
    """
    email, chosen = email.strip().lower(), list(groups)
    hold_credential(by)
    _check_power(by, role, chosen)
    if is_address_taken(email):
        raise PeopleRefused(_("There is already an account with this address."))
    Invitation.objects.filter(OPEN, email__iexact=email).update(withdrawn_at=Now())
    raw = secrets.token_urlsafe(RANDOM_BYTES)
    invitation = Invitation.objects.create(
        email=email,
        role=role,
        by=person_behind(by),
        made_with_id=by.key_id if isinstance(by, KeyHolder) else None,
        digest=digest_of(raw),
        expires_at=database_now() + timedelta(days=settings.PEGBOARD_INVITATION_DAYS),
    )
    invitation.groups.set(chosen)
    record(
        by=by, action="person.invited", target=email, details=_details(invitation),
        groups=[group.pk for group in chosen],
    )  # fmt: skip
    return invitation, raw


@transaction.atomic
def withdraw(*, by: Actor, invitation: Invitation) -> None:
    """End an invitation, so that its link no longer works."""
    if Invitation.objects.filter(OPEN, pk=invitation.pk).update(withdrawn_at=Now()):
        groups = list(invitation.groups.values_list("pk", flat=True))
        record(by=by, action="invitation.withdrawn", target=invitation.email, groups=groups)


def list_open() -> QuerySet[Invitation]:
    """Return open invitations; expired ones have `over`."""
    over = ExpressionWrapper(Q(expires_at__lte=Now()), output_field=BooleanField())
    open_ones = Invitation.objects.filter(OPEN).annotate(over=over)
    return open_ones.select_related("by").prefetch_related("groups")


def open_invitation(raw: str) -> Invitation | None:
    """Return a link's invitation if it can still be accepted."""
    return _acceptable().filter(digest=digest_of(raw)).first()


@transaction.atomic
def accept(*, raw: str, username: str, password: str) -> User:
    """Create the invited person; PeopleRefused if link, address or name is no longer available."""
    invitation = _acceptable().select_for_update(of=("self",)).filter(digest=digest_of(raw)).first()
    if invitation is None or is_address_taken(invitation.email):
        raise PeopleRefused(_("This invitation is no longer valid. Ask for a new one."))
    if not _may_still_invite(invitation):
        raise PeopleRefused(_("This invitation is no longer valid. Ask for a new one."))
    person = _create(invitation, username, password)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=Now(), person=person)
    details = _details(invitation)
    record(by=person, action="invitation.accepted", target=person.username, details=details)
    return person


def _may_still_invite(invitation: Invitation) -> bool:
    """Check again at acceptance, because the sender or the groups may have changed since."""
    sender: Actor = invitation.by
    if invitation.made_with is not None:
        sender = current_holder(invitation.made_with)
    if sender is None:
        return False
    try:
        _check_power(sender, invitation.role, invitation.groups.all())
    except PeopleRefused:
        return False
    return True


def _check_power(by: Actor, role: str, groups: Iterable[Group]) -> None:
    """Raise PeopleRefused if the invited person would have more power than the sender."""
    try:
        check_invitation(by, role, groups)
    except DelegationRefused as refused:
        raise PeopleRefused(str(refused)) from refused


def _acceptable() -> QuerySet[Invitation]:
    """Match open invitations whose sender may still invite with that role."""
    sender = Q(by__is_active=True, by__is_staff=True)
    may = Q(role=Invitation.Role.MEMBER) | Q(by__is_superuser=True)
    valid_maker = Q(made_with=None) | Q(made_with__in=ApiKey.objects.filter(IN_FORCE))
    return Invitation.objects.filter(OPEN, sender, may, valid_maker, expires_at__gt=Now())


def _create(invitation: Invitation, username: str, password: str) -> User:
    admin = invitation.role == Invitation.Role.ADMIN
    # The answer must not reveal whose address it is.
    if "@" in username and username.lower() != invitation.email:
        raise PeopleRefused(_("A name that contains @ must be your own e-mail address."))
    try:
        check_plain_name(username)
    except ValidationError as problem:
        raise PeopleRefused(problem.message) from problem
    if User.objects.filter(username__iexact=username).exists():
        raise PeopleRefused(_("This name is already taken."))
    try:
        with transaction.atomic():
            person = User.objects.create_user(
                username, invitation.email, password, is_staff=admin, is_superuser=admin
            )
    except IntegrityError:  # taken a moment ago
        raise PeopleRefused(_("This name is already taken.")) from None
    # The link went to the address, or the admin who vouches for it gave it on.
    EmailAddress.objects.create(user=person, email=invitation.email, verified=True, primary=True)
    person.groups.set(invitation.groups.all())
    join_default_groups(person=person)
    return person


def _details(invitation: Invitation) -> dict[str, object]:
    groups = invitation.groups.order_by("name", "pk").values_list("name", flat=True)
    return {"email": invitation.email, "role": invitation.role, "groups": list(groups)}


# Lists of people that an admin pastes, to add them all to a group or to invite them.

MOST_ENTRIES = 500
MOST_CHARACTERS = 50_000
# Lines, cells of a CSV file, and the lists of mail programs: `Ann Lee <ann@example.com>; …`.
_SEPARATORS = re.compile(r"[\n\r,;\t]+")
# Headings of the column that names a person, in a CSV file with headings.
_NAMING = ("email", "e-mail", "email address", "mail", "user", "username", "user name", "login")
_DELIMITERS = (",", ";", "\t")
_IN_BRACKETS = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class ReadList:
    """A read list: people to add, members already, addresses to invite, and what names nobody who
    could be added: unknown names, and addresses of deactivated accounts."""

    people: tuple[User, ...]
    members: tuple[User, ...]
    addresses: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Return True if there is nobody to add or to invite."""
        return not self.people and not self.addresses


def read_list(text: str, group: Group) -> ReadList:
    """Match each entry with the user names and addresses of active people, in any case.

    Raises PeopleRefused for a list that is empty or too long.
    """
    entries = _entries(text)
    by_entry = _people_by_entry(entries)
    joined = set(User.objects.filter(groups=group).values_list("pk", flat=True))
    people = {person.pk: person for person in by_entry.values()}.values()
    others = [entry for entry in entries if entry.lower() not in by_entry]
    free = _free_addresses(others)
    return ReadList(
        people=tuple(person for person in people if person.pk not in joined),
        members=tuple(person for person in people if person.pk in joined),
        addresses=tuple(free),
        unknown=tuple(entry for entry in others if entry.lower() not in free),
    )


def read_table(text: str) -> str:
    """Return the column of a CSV file that names people, one per line; other texts as they are."""
    head, _, _rest = text.partition("\n")
    delimiter = max(_DELIMITERS, key=head.count)
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    except csv.Error:
        return text
    headings = [cell.strip().lower() for cell in rows[0]] if rows else []
    naming = next((name for name in _NAMING if name in headings), None)
    if naming is None:
        return text
    column = headings.index(naming)
    return "\n".join(row[column] for row in rows[1:] if column < len(row))


@transaction.atomic
def add_all(*, by: Actor, group: Group, people: Iterable[User]) -> None:
    """Add people to a group: all of them, or nobody."""
    for person in people:
        add_to_group(by=by, person=person, group=group)


@transaction.atomic
def invite_all(
    *, by: Actor, group: Group, addresses: Iterable[str]
) -> list[tuple[Invitation, str]]:
    """Invite the addresses as members of a group; return the invitations with their secrets."""
    return [invite(by=by, email=address, groups=[group]) for address in addresses]


def _entries(text: str) -> list[str]:
    """Return the distinct entries in their order."""
    parts = (_IN_BRACKETS.search(part) or part for part in _SEPARATORS.split(text))
    words = (part if isinstance(part, str) else part[1] for part in parts)
    cleaned = (word.strip().strip("\"'").strip() for word in words)
    entries = list({word.lower(): word for word in cleaned if word}.values())
    if not entries:
        raise PeopleRefused(_("Enter at least one user name or e-mail address."))
    if len(entries) > MOST_ENTRIES:
        raise PeopleRefused(
            _("Enter at most %(number)s people at once.") % {"number": MOST_ENTRIES}
        )
    return entries


def _people_by_entry(entries: Iterable[str]) -> dict[str, User]:
    """Return active people by the lower-case entry that names them; a user name goes first."""
    names = [entry.lower() for entry in entries]
    people = User.objects.filter(is_active=True).alias(
        lower_name=Lower("username"), lower_email=Lower("email")
    )
    matching = list(people.filter(Q(lower_name__in=names) | Q(lower_email__in=names)))
    by_address = {person.email.lower(): person for person in matching if person.email}
    by_name = {person.username.lower(): person for person in matching}
    every = {**by_address, **by_name}
    return {entry: every[entry] for entry in names if entry in every}


def _free_addresses(entries: Iterable[str]) -> list[str]:
    """Return the addresses among the entries that no account has."""
    addresses = [entry.lower() for entry in entries if _is_address(entry)]
    accounts = User.objects.alias(lower_email=Lower("email")).filter(lower_email__in=addresses)
    taken = {email.lower() for email in accounts.values_list("email", flat=True)}
    confirmed = EmailAddress.objects.filter(email__in=addresses)
    taken |= set(confirmed.values_list("email", flat=True))
    return [address for address in addresses if address not in taken]


def _is_address(entry: str) -> bool:
    try:
        validate_email(entry)
    except ValidationError:
        return False
    return True
