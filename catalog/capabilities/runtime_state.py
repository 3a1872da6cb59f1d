"""States of runtime capabilities and their transitions.

Transitions compare and set: of two that arrive together, one changes the row and is recorded.
"""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.models import ApiKey
from acl.models.api_key import IN_FORCE
from catalog.access.grants import grant
from catalog.locks import lock_definitions
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Definition,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
    RuntimeCapability,
)

State = RuntimeCapability.State
LIVE = (State.PROPOSED, State.TRIED, State.APPROVED, State.PROMOTED)
_FROM: dict[State, tuple[State, ...]] = {
    State.PROPOSED: (State.PROPOSED, State.TRIED, State.APPROVED, State.RETIRED),
    State.TRIED: (State.PROPOSED,),
    State.APPROVED: (State.PROPOSED, State.TRIED),
    State.PROMOTED: (State.APPROVED, State.PROMOTED),
    State.RETIRED: LIVE,
}
# By the clock of the statement; a sweep retires the others.
_OF_ENDED_KEY = Q(
    ~Exists(ApiKey.objects.filter(IN_FORCE, pk=OuterRef("key"))),
    state__in=(State.PROPOSED, State.TRIED),
    key__isnull=False,
)
IS_OVER = Q(expires_at__lte=Now()) | _OF_ENDED_KEY
NOT_OVER = (Q(expires_at__gt=Now()) | Q(expires_at=None)) & ~_OF_ENDED_KEY
_MOST_AT_ONCE = 500
RETIRED = gettext_noop("It was retired.")
EXPIRED = RuntimeCapability.EXPIRED


class WrongStateError(Exception):
    """The transition is not possible from the capability's state."""


def move(row: RuntimeCapability, to: State, *only_if: Q, **values: Any) -> bool:
    """Move the row to a state that follows its stored one; return False if it does not."""
    rows = RuntimeCapability.objects.filter(*only_if, pk=row.pk, state__in=_FROM[to])
    return bool(rows.update(state=to, changed_at=Now(), **values))


@transaction.atomic
def approve(*, by: User, row: RuntimeCapability, seen: str) -> None:
    """Approve the definition with the digest `seen`. Raise WrongStateError if it is another one,
    or has not passed the gate."""
    passed = _capability(row).filter(state="approved", available=True)
    if not passed.exists():
        raise WrongStateError("Its definition waits for a review: decide about it first.")
    if not passed.filter(definition_hash=seen).exists():
        raise WrongStateError("Its definition has changed since you looked at it.")
    if not move(row, State.APPROVED, NOT_OVER):
        raise WrongStateError(
            "Only a proposed or tried capability that has not expired can be approved."
        )
    record(by=by, action="capability.approve", target=row.full_name)


@transaction.atomic
def promote(*, by: User, row: RuntimeCapability, groups: Collection[Group]) -> None:
    """Grant an approved capability to further groups; it no longer expires."""
    if not move(row, State.PROMOTED, NOT_OVER, expires_at=None):
        raise WrongStateError("Only an approved capability that has not expired can be promoted.")
    capability = _capability(row).get()
    for group in groups:
        grant(by=by, target=capability, group=group)
    names = sorted(group.name for group in groups)
    record(by=by, action="capability.promote", target=row.full_name, details={"groups": names})


@transaction.atomic
def retire(
    *,
    by: User | None,
    row: RuntimeCapability,
    reason: str = RETIRED,
    withdrawn: bool = False,
    only_if: Q | None = None,
) -> bool:
    """Switch a capability off and keep its rows; return False if it was retired before.

    Grants to it end, so that a later definition of this name does not inherit them.
    """
    # A review that is about to enable it comes first, or sees that it is retired.
    lock_definitions(row.integration_id)
    if not move(row, State.RETIRED, only_if or Q(), withdrawn=withdrawn):
        return False
    capability = _capability(row)
    capability.update(available=False, unavailable_reason=reason)
    keys = list(capability.values_list("pk", flat=True))
    CapabilityGroupPermission.objects.filter(content_object__in=keys).delete()
    CapabilityUserPermission.objects.filter(content_object__in=keys).delete()
    Definition.objects.filter(
        integration=row.integration_id, name=row.name, standing__in=Definition.WAITING
    ).delete()
    action = "capability.expire" if reason == EXPIRED else "capability.retire"
    groups = None if withdrawn else [row.group_id]
    record(by=by, action=action, target=row.full_name, groups=groups)
    return True


def expire(row: RuntimeCapability) -> bool:
    """Retire a capability if its time is over; return True if this call did."""
    return retire(by=None, row=row, reason=EXPIRED, only_if=IS_OVER)


def retire_of_keys(keys: Collection[int], **_: object) -> None:
    """Retire what these keys proposed and nobody has approved: they have ended."""
    for row in RuntimeCapability.objects.filter(IS_OVER, key__in=keys, state__in=LIVE):
        expire(row)


def retire_expired() -> int:
    """Retire capabilities whose time, or whose key, is over; return how many. Safe to run twice."""
    rows = RuntimeCapability.objects.filter(IS_OVER, state__in=LIVE).order_by("expires_at", "pk")
    # `expire` checks again: its owner may have extended it in the meantime.
    return sum(expire(row) for row in list(rows[:_MOST_AT_ONCE]))


def note_tried(called: Q | Exists) -> int:
    """Mark proposed capabilities as tried; `called` filters the rows of `Capability`."""
    tried = Capability.objects.filter(called, full_name=OuterRef("full_name"))
    rows = RuntimeCapability.objects.filter(Exists(tried), state=State.PROPOSED)
    return sum(_note_tried(row) for row in rows.order_by("pk"))


@transaction.atomic
def _note_tried(row: RuntimeCapability) -> bool:
    if not move(row, State.TRIED):
        return False
    record(by=None, action="capability.tried", target=row.full_name)
    return True


def is_shared(row: RuntimeCapability) -> bool:
    """Return True if anyone outside the proposing group may use it, by a grant or a rule."""
    capabilities = _capability(row).values("pk")
    to_groups = (
        IntegrationGroupPermission.objects.filter(content_object=row.integration_id),
        CapabilityGroupPermission.objects.filter(content_object__in=capabilities),
    )
    to_people = (
        IntegrationUserPermission.objects.filter(content_object=row.integration_id),
        CapabilityUserPermission.objects.filter(content_object__in=capabilities),
    )
    rules = Rule.objects.filter(
        Q(integration=row.integration_id) | Q(capability__in=capabilities)
    ).exclude(effect=Rule.Effect.DENY)
    return (
        any(grants.exclude(group=row.group_id).exists() for grants in to_groups)
        or any(grants.exists() for grants in to_people)
        or rules.exclude(space__group=row.group_id).exists()
    )


def _capability(row: RuntimeCapability) -> Any:
    return Capability.objects.filter(integration=row.integration_id, action=row.name)
