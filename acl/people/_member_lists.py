"""Lists of people that an admin pastes, to add them all to a group or to invite them."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from acl.models import Invitation
from acl.people._invitations import invite
from acl.people.people import PeopleRefused, add_to_group
from acl.rights.delegation import Actor

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
