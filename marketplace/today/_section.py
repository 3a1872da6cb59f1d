"""Sections of Today: rows of a kind, each with its page, and what can be decided in place."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from acl.keys.lifecycle import rotate_key
from acl.keys.listing import KeyFilter, list_keys
from acl.models import ApiKey
from acl.rights.approvers import approver_of, eligibility_of
from acl.rights.delegation import DelegationRefused
from acl.visible_text.canonical_json import Rendering
from catalog.icons import Face
from discovery.calls.approval_queue import list_waiting
from discovery.calls.approvals import (
    approvals_of,
    decide_in_bulk,
    fits_a_list,
    is_asked_by_guard,
    waiting,
)
from discovery.calls.arguments import digest_of, render_call
from discovery.calls.queries import TooLateError, cancel_call
from discovery.models import Call
from marketplace.integrations.review_decisions import DefinitionChange

MOST = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """A changed fact: its label, the value before, and the value after."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PendingDefinition:
    """A definition waiting for review, as the list shows it."""

    key: int
    change: DefinitionChange
    is_short: bool

    @property
    def choice(self) -> str:
        """Return the value of its checkbox: the definition, and the digest of what is displayed."""
        return f"{self.key}:{self.change.seen}"

    @property
    def objection(self) -> str:
        """Return why the list does not approve it, or ""."""
        if self.change.findings or self.change.problem:
            return _("Something in it looks suspicious. Review it on its page.")
        return "" if self.is_short else _("It is too long for this list. Review it on its page.")

    @property
    def can_be_chosen(self) -> bool:
        """Return True if all that is approved can be seen here, and nothing is suspicious."""
        return not self.objection


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name, what is the matter, and the link that handles it."""

    title: str
    words: str
    address: str
    action: str
    label: str = ""
    tone: str = ""
    icon: str = ""
    value: str = ""  # of its button
    choice: str = ""  # of its checkbox
    facts: tuple[Fact, ...] = ()
    face: Face | None = None  # of an integration
    definitions: tuple[PendingDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The first rows of a kind, the number of all, and the page that has them all."""

    rows: tuple[Row, ...] = ()
    count: int = 0
    address: str = ""

    @property
    def more(self) -> int:
        """Return how many rows are left out."""
        return self.count - len(self.rows)

    @property
    def choices(self) -> int:
        """Return how many rows and definitions can be chosen."""
        definitions = (definition for row in self.rows for definition in row.definitions)
        return sum(bool(row.choice) for row in self.rows) + sum(
            definition.can_be_chosen for definition in definitions
        )


@dataclass(frozen=True, slots=True)
class Decisions:
    """Outcome of several decisions: the number of things decided, and what was refused."""

    done: int
    refusals: tuple[str, ...]


def read_keys(choices: Sequence[str]) -> list[int]:
    """Return the choices that are keys of rows."""
    return [int(key) for key in choices if key.isdecimal() and len(key) < 12]


def read_choices(choices: Sequence[str]) -> dict[str, str]:
    """Return what follows the first colon of each choice, by what precedes it."""
    return dict(choice.partition(":")[::2] for choice in choices)


# Calls that wait for a person, and decisions about several of them at once.

MOST_CALLS = 20


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A pending call with its arguments, and why it cannot be decided in the list, or ""."""

    call: Call
    rendering: Rendering
    stuck: bool
    is_short: bool

    @property
    def choice(self) -> str:
        """Return the value of its checkbox: the call, and the digest of what is displayed."""
        return f"{self.call.pk}:{digest_of(self.call)}"

    @property
    def can_be_chosen(self) -> bool:
        """Return True if everything that is approved can be seen in the list."""
        return self.is_short and not self.stuck and not self.asked_by_guard

    @property
    def asked_by_guard(self) -> bool:
        """Return True if the guard on flows asks about the call."""
        return is_asked_by_guard(self.call)


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """Pending calls for a person to deal with, oldest first, and the number of all."""

    rows: tuple[PendingCall, ...] = ()
    count: int = 0

    @property
    def choices(self) -> int:
        """Return how many of its rows can be chosen."""
        return sum(call.can_be_chosen for call in self.rows)


def list_to_decide(person: User) -> PendingCalls:
    """Return the calls that this person may decide, and those that nobody may, oldest first."""
    # The rule needs four columns of each call; the whole rows are read for those in the list only.
    queue = [call for call in list_waiting() if not call.reason]
    verdicts = eligibility_of(queue, approver_of(person))
    mine = [
        waiting_call.pk
        for waiting_call in queue
        if verdicts[waiting_call.pk].stuck or not verdicts[waiting_call.pk].objection
    ]
    calls = approvals_of(person).filter(pk__in=mine[:MOST_CALLS]).order_by("created_at", "pk")
    rows = tuple(_pending(call, stuck=verdicts[call.pk].stuck) for call in calls)
    return PendingCalls(rows, len(mine))


def list_own_pending(person: User) -> PendingCalls:
    """Return the person's own calls that wait for an approver, oldest first."""
    own_calls = _own(person)
    rows = list(
        own_calls.select_related("user", "group", "actor", "capability__integration")[:MOST_CALLS]
    )
    return PendingCalls(tuple(_pending(call, stuck=False) for call in rows), own_calls.count())


def _own(person: User) -> "QuerySet[Call]":
    # A call leaves the queue when its tool may no longer be used, so no hidden name is shown.
    return waiting(Call.objects.filter(user=person, needs_approval=True))


def _pending(call: Call, *, stuck: bool) -> PendingCall:
    rendering = render_call(call)
    return PendingCall(call, rendering, stuck, fits_a_list(rendering))


def decide_each(*, by: User, choices: Sequence[str], approve: bool, note: str) -> Decisions:
    """Approve or reject the chosen calls as they were displayed."""
    decided = decide_in_bulk(by=by, digests=_read_seen(choices), approve=approve, note=note)
    return Decisions(decided.done, decided.refusals)


def cancel_each(*, by: User, choices: Sequence[str]) -> Decisions:
    """Cancel the chosen calls among the person's own."""
    calls = list(_own(by).filter(pk__in=list(_read_seen(choices))).order_by("created_at", "pk"))
    refusals = []
    for call in calls:
        try:
            cancel_call(by=by, call=call)
        except TooLateError as late:
            refusals.append(f"{call.full_name}: {late}")
    return Decisions(len(calls) - len(refusals), tuple(refusals))


def _read_seen(choices: Sequence[str]) -> dict[UUID, str]:
    """Return the digest of what was displayed, by call."""
    digests = {}
    for key, digest in list(read_choices(choices).items())[:MOST_CALLS]:
        with suppress(ValueError):  # somebody typed it: no call has such a key
            digests[UUID(key)] = digest
    return digests


# Keys that expire soon, and replacing several of them at once.


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
