"""Keys that expire soon, and replacing several of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from acl.keys.lifecycle import rotate_key
from acl.keys.listing import KeyFilter, list_keys
from acl.models import ApiKey
from acl.rights.delegation import DelegationRefused
from marketplace.today._section import MOST, Row, Section, read_keys


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its raw text, which is shown once."""

    key: ApiKey
    raw: str


@dataclass(frozen=True, slots=True)
class Replacements:
    """The new keys, and what was refused."""

    keys: tuple[NewKey, ...]
    refusals: tuple[str, ...]


def list_ending_keys(person: User) -> Section:
    """Return keys without a successor that expire within a week: for staff all, else their own."""
    keys = list_keys(KeyFilter(show="ending")).filter(replaced_at=None)
    if not person.is_staff:
        keys = keys.filter(owner=person)
    rows = tuple(_row(key, person) for key in keys.order_by("expires_at", "pk")[:MOST])
    return Section(rows, keys.count(), f"{reverse('keys')}?show=ending" if person.is_staff else "")


def _row(key: ApiKey, person: User) -> Row:
    expires = localtime(key.expires_at) if key.expires_at else None
    words = _("Expires %(time)s.") % {
        "time": date_format(expires, "DAY_TIME_FORMAT") if expires else ""
    }
    if not person.is_staff:
        # Only admins make keys: the person has to ask one.
        return Row(key.name, words, reverse("requests"), _("Request a new key"))
    address = reverse("key-replace", args=[key.pk])
    return Row(key.name, words, address, _("Replace key"), choice=str(key.pk))


@sensitive_variables("raw", "made")
def replace_keys(
    *, by: User, keys: Sequence[str], overlap: timedelta, lifetime: timedelta | None
) -> Replacements:
    """Replace the chosen keys, each for itself: one refusal stops no other."""
    rows = list_keys(KeyFilter(show="ending")).filter(pk__in=read_keys(keys), replaced_at=None)
    made: list[NewKey] = []
    refusals = []
    for key in rows.order_by("expires_at", "pk"):
        try:
            new, raw = rotate_key(by=by, key=key, overlap=overlap, lifetime=lifetime)
        except DelegationRefused as refused:
            refusals.append(f"{key.name}: {refused}")
        else:
            made.append(NewKey(new, raw))
    if not made and not refusals:
        refusals.append(_("These keys have already been replaced, or have expired."))
    return Replacements(tuple(made), tuple(refusals))
