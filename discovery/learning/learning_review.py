"""What a group has learned: looked at, and forgotten at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet

from acl.audit.recorder import record
from acl.rights.caller import Caller
from catalog.models import Capability
from discovery.learning.memory import MOST_CHECKED
from discovery.learning.past_use import LEVELS, OFF, REPEAT_WEIGHT, Checked, level_for
from discovery.models import Experience

MOST_NAMED = 50


@dataclass(frozen=True, slots=True)
class Learned:
    """How often a capability was called, and how often that did not go well."""

    full_name: str
    times: int
    failed: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Check:
    """What votes of this weight would have gained on average for what was called, in the worth of
    its rank from 0 to 1, and the standard error of that."""

    weight: float
    gain: float
    error: float


@dataclass(frozen=True, slots=True)
class Review:
    """What of a group's memory counts for a caller, by the model that answers now.

    `weight` is what all votes together are worth, in cosine, `repeats` what those of repeated
    messages are, whatever the weight.
    """

    on: bool
    experiences: int
    of_other_models: int
    turns: int
    oldest_at: datetime | None
    newest_at: datetime | None
    weight: float
    repeats: float
    check: tuple[Check, ...]
    capabilities: tuple[Learned, ...]


def review(*, caller: Caller) -> Review:
    """Only what the caller may use is counted and named."""
    usable = Experience.objects.filter(
        group=caller.group_id,
        capability__in=Capability.objects.usable_by(caller).values("pk"),
    )
    comparable = usable.filter(model__active=True)
    about = comparable.aggregate(
        experiences=Count("pk"),
        turns=Count("turn", distinct=True),
        oldest_at=Min("created_at"),
        newest_at=Max("created_at"),
    )
    checked, number = _checked(comparable)
    level = level_for(checked) if settings.PEGBOARD_LEARNING else OFF
    return Review(
        on=settings.PEGBOARD_LEARNING,
        of_other_models=usable.count() - about["experiences"],
        weight=LEVELS[level] if level != OFF else 0.0,
        repeats=REPEAT_WEIGHT if level != OFF else 0.0,
        check=_by_level(checked, number),
        capabilities=tuple(_most_called(comparable)),
        **about,
    )


@transaction.atomic
def reset(*, by: User | None, group: Group) -> int:
    """Forget all that a group has learned; the number of experiences."""
    number, _ = Experience.objects.filter(group=group).delete()
    record(by=by, action="learning.reset", target=group.name, details={"experiences": number})
    return number


@transaction.atomic
def forget(*, by: User | None, experiences: QuerySet[Experience]) -> None:
    """Forget some experiences; the log says of which groups and how many."""
    numbers = experiences.order_by().values_list("group__name").annotate(number=Count("pk"))
    for name, number in sorted(numbers):
        record(by=by, action="learning.forget", target=name, details={"experiences": number})
    Experience.objects.filter(pk__in=experiences.values("pk")).delete()


def _checked(comparable: QuerySet[Experience]) -> tuple[Checked, int]:
    """As the statement that selects has it, of the same experiences."""
    newest = comparable.order_by("-pk").values_list("gains", flat=True)
    rows = list(newest[: min(MOST_CHECKED, settings.PEGBOARD_LEARNING_MOST)])
    if not rows:
        return Checked(), 0
    gains = np.array(rows)
    return Checked(gains.sum(axis=0).tolist(), (gains**2).sum(axis=0).tolist()), len(rows)


def _by_level(checked: Checked, number: int) -> tuple[Check, ...]:
    each = max(1, number)
    return tuple(
        Check(weight, round(gain / each, 4), round(square**0.5 / each, 4))
        for weight, gain, square in zip(LEVELS, checked.gains, checked.squares, strict=True)
    )


def _most_called(comparable: QuerySet[Experience]) -> Sequence[Learned]:
    rows = (
        comparable.values_list("capability__full_name")
        .annotate(
            times=Count("pk"), failed=Count("pk", filter=Q(worth__lt=0)), last=Max("created_at")
        )
        .order_by("-times", "capability__full_name")[:MOST_NAMED]
    )
    return [Learned(*row) for row in rows]
