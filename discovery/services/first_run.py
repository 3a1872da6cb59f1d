"""The first steps: what a newcomer has done, as the rows say it. Nobody ticks anything by hand."""

from dataclasses import dataclass, replace
from typing import Literal

from django.contrib.auth.models import User
from django.db.models import Exists, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from acl.callers import Caller
from acl.database_room import write_if_room
from acl.models import ApiKey, GroupPolicy
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)
from catalog.models.integration import ReviewState
from discovery.models import FirstRun

Name = Literal["install", "give", "tools", "try", "key", "call"]
# The kinds that the starter collection has none of, so that somebody has brought them.
_BROUGHT = (Integration.Kind.MCP, Integration.Kind.MANIFEST, Integration.Kind.CATALOG)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, and whether it has been done."""

    name: Name
    done: bool


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """All of them, in their order."""

    steps: tuple[Step, ...]
    hidden: bool
    changed: bool = False  # by this very request

    @property
    def done(self) -> int:
        return sum(step.done for step in self.steps)

    @property
    def complete(self) -> bool:
        return self.done == len(self.steps)

    @property
    def next(self) -> Step | None:
        """The first that is left to do."""
        return next((step for step in self.steps if not step.done), None)


def first_steps(*, user: User, caller: Caller | None) -> FirstSteps:
    """The steps of `user`: those of an admin make Pegboard useful to others. Two statements."""
    own = FirstRun.objects.filter(pk=user.pk).first()
    return _steps(user, caller, own)


def steps_at_start(*, user: User, caller: Caller | None, trying: bool) -> FirstSteps | None:
    """The same for the start page: nothing where they are hidden, or were done before.

    `trying` says that a message is being tried there, which is noted the first time. Whoever has
    hidden the steps, and people who have tried a message, cost one statement.
    """
    own = FirstRun.objects.filter(pk=user.pk).first()
    new = trying and (own is None or own.tried_at is None)
    if new:
        before = own
        own = write_if_room(lambda: _keep(user, "tried_at"), otherwise=lambda: before)
    if own is not None and (own.hidden_at or (own.tried_at and not user.is_staff and not new)):
        return None
    found = replace(_steps(user, caller, own), changed=new)
    return None if found.complete and not new else found


def hide_steps(*, user: User, hidden: bool) -> None:
    """Whether the start page of `user` is without them."""
    if hidden:
        _keep(user, "hidden_at")
    else:
        FirstRun.objects.filter(pk=user.pk).update(hidden_at=None)


def _keep(user: User, field: str) -> FirstRun:
    """The row, with the time of now where it has none."""
    FirstRun.objects.bulk_create([FirstRun(user=user)], ignore_conflicts=True)
    FirstRun.objects.filter(pk=user.pk).update(**{field: Coalesce(field, Now())})
    return FirstRun.objects.get(pk=user.pk)


def _steps(user: User, caller: Caller | None, own: FirstRun | None) -> FirstSteps:
    tried = own is not None and own.tried_at is not None
    hidden = own is not None and own.hidden_at is not None
    steps = _of_an_admin(user, tried) if user.is_staff else _of_a_person(caller, tried)
    return FirstSteps(steps, hidden)


def _of_an_admin(user: User, tried: bool) -> tuple[Step, ...]:
    facts = (
        User.objects.filter(pk=user.pk)
        .annotate(
            installed=Exists(_brought()),
            given=Exists(IntegrationGroupPermission.objects.all())
            | Exists(CapabilityGroupPermission.objects.all())
            | Exists(Rule.objects.exclude(effect=Rule.Effect.DENY))
            | Exists(GroupPolicy.objects.filter(open_default=True)),
            keyed=Exists(ApiKey.objects.all()),
            called=Exists(ApiKey.objects.exclude(last_used_at=None)),
        )
        .values("installed", "given", "keyed", "called")
        .get()
    )
    return (
        Step("install", facts["installed"]),
        Step("give", facts["given"]),
        Step("try", tried),
        Step("key", facts["keyed"]),
        Step("call", facts["called"]),
    )


def _of_a_person(caller: Caller | None, tried: bool) -> tuple[Step, ...]:
    has = caller is not None and Capability.objects.usable_by(caller).exists()
    return (Step("tools", has), Step("try", tried))


def _brought() -> QuerySet[Integration]:
    """What somebody has installed, imported or connected, and can be used."""
    brought = Q(kind__in=_BROUGHT) | ~Q(listing="")
    return Integration.objects.filter(brought, state=ReviewState.APPROVED, enabled=True)
