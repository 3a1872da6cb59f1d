"""People provisioned by an identity provider's client, which creates, changes and removes them.

A provisioned person has no password. They sign in by the provider, or ask for a reset link, which
goes to the address that the admin's client vouched for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import revoke_key
from acl.models import ApiKey
from acl.people.groups import join_default_groups
from acl.people.people import PeopleRefused, deactivate, erase_person, groups_of, is_name_taken
from acl.rights.delegation import (
    Actor,
    DelegationRefused,
    check_installation,
    check_person,
    hold_credential,
    may_act_as,
)
from acl.visible_text.pieces import check_plain_name


class NameTaken(PeopleRefused):
    """The name or the address belongs to another account."""


class NameRefused(PeopleRefused):
    """The name or the address is unusable."""


@dataclass(frozen=True, slots=True)
class ProvisionedAddress:
    """An address of a person, as the client says it."""

    email: str
    is_primary: bool = False


@transaction.atomic
def provision_person(*, by: Actor, username: str) -> User:
    """Create a person without a password, an address or a rank, in the groups that all join."""
    hold_credential(by)
    check_installation(by)
    person = User(username=_checked_name(username))
    if is_name_taken(person.username):
        raise NameTaken(_("This name or address is already taken."))
    person.set_unusable_password()
    _check_fields(person)
    person.save()
    record(by=by, action="person.provisioned", target=person.username)
    join_default_groups(person=person)
    return person


@transaction.atomic
def change_person(
    *,
    by: Actor,
    person: User,
    username: str,
    first_name: str,
    last_name: str,
    addresses: Sequence[ProvisionedAddress],
    is_new: bool = False,
) -> bool:
    """Change names and addresses; return False if nothing changes.

    Raises DelegationRefused for a person who may do more than `by`. Whoever sets an address can
    sign in with it, so that takes the right to act as the person, unless they are new.
    """
    before = (person.username, person.first_name, person.last_name, _addresses_of(person))
    checked = [
        ProvisionedAddress(_checked_address(address.email), address.is_primary)
        for address in addresses
    ]
    if before == (username, first_name, last_name, checked):
        return False
    check_person(by, person)
    if username != person.username:
        person.username = _free_name(person, username)
    if checked != before[3]:
        if not is_new and not may_act_as(by, person):
            raise DelegationRefused(
                "emails",
                _("Changing an address takes a key that acts for users: it could sign in as them."),
            )
        _set_addresses(person, checked)
    person.first_name, person.last_name = first_name, last_name
    _check_fields(person)
    person.save(update_fields=["username", "email", "first_name", "last_name"])
    details = {"before": before[0], "emails": [address.email for address in checked]}
    groups = groups_of(person)
    record(by=by, action="person.changed", target=person.username, details=details, groups=groups)
    return True


@transaction.atomic
def deprovision_person(*, by: Actor, person: User) -> None:
    """Deactivate a person for good, and remove their name, addresses and messages."""
    deactivate(by=by, person=person)
    for key in ApiKey.objects.filter(owner=person, revoked_at=None).order_by("pk"):
        revoke_key(by=by, key=key)
    groups = dict(person.groups.order_by("name").values_list("pk", "name"))
    record(
        by=by, action="person.deprovisioned", target=person.username,
        details={"groups": list(groups.values())}, groups=groups.keys(),
    )  # fmt: skip
    erase_person(by=by, person=person)


def _addresses_of(person: User) -> list[ProvisionedAddress]:
    rows = EmailAddress.objects.filter(user=person).order_by("pk")
    addresses = [ProvisionedAddress(row.email, row.primary) for row in rows]
    return addresses or ([ProvisionedAddress(person.email, True)] if person.email else [])


def _set_addresses(person: User, addresses: Sequence[ProvisionedAddress]) -> None:
    """Replace a person's addresses. All count as confirmed; mails go to the primary one."""
    emails = [address.email for address in addresses]
    if len(set(emails)) != len(emails) or sum(address.is_primary for address in addresses) > 1:
        raise NameRefused(_("Addresses must differ, and at most one is the primary one."))
    others = User.objects.exclude(pk=person.pk).annotate(lower=Lower("email"))
    added = EmailAddress.objects.exclude(user=person).filter(email__in=emails)
    if added.exists() or others.filter(lower__in=emails).exclude(lower="").exists():
        raise NameTaken(_("This name or address is already taken."))
    EmailAddress.objects.filter(user=person).delete()
    for address in addresses:
        EmailAddress.objects.create(
            user=person, email=address.email, verified=True, primary=address.is_primary
        )
    first = next(
        (address.email for address in addresses if address.is_primary), emails[0] if emails else ""
    )
    person.email = first


def _free_name(person: User, username: str) -> str:
    username = _checked_name(username)
    others = User.objects.exclude(pk=person.pk)
    taken = others.filter(username__iexact=username) | others.filter(email__iexact=username)
    added = EmailAddress.objects.exclude(user=person).filter(email=username.lower())
    if taken.exists() or added.exists():
        raise NameTaken(_("This name or address is already taken."))
    return username


def _checked_name(username: str) -> str:
    username = User.normalize_username(username)
    try:
        check_plain_name(username)
    except ValidationError as problem:
        raise NameRefused(" ".join(problem.messages)) from problem
    return username


def _checked_address(email: str) -> str:
    email = email.strip().lower()
    try:
        if email:
            validate_email(email)
    except ValidationError as problem:
        raise NameRefused(" ".join(problem.messages)) from problem
    return email


def _check_fields(person: User) -> None:
    try:
        person.clean_fields(exclude=["password", "last_login"])
    except ValidationError as problem:
        raise NameRefused(" ".join(problem.messages)) from problem
