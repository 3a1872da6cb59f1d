"""Review and reset of what a group has learned."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import numpy as np
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet

from acl.audit.recorder import record
from acl.platform.answer_model import Answer, Shown
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.learning.memory import (
    LEVELS,
    MOST_CHECKED,
    OFF,
    REPEAT_WEIGHT,
    VoteGains,
    choose_level,
)
from discovery.models import Experience, TaughtMessage

MOST_NAMED = 50


@dataclass(frozen=True, slots=True)
class LearnedCapability(Answer):
    """Number of calls of a capability."""

    component = "Learned"

    full_name: str
    times: int
    failed: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class LevelCheck(Answer):
    """Mean gain of votes at a weight, for the capabilities that were called."""

    component = "Check"

    weight: Annotated[
        float, Shown("The limit for all votes together; 0 means repeated messages only.")
    ]
    gain: Annotated[
        float,
        Shown("The average gain in rank value: 1 for the first place, 0 after the tenth."),
    ]
    error: Annotated[float, Shown("The standard error of the gain.")]


@dataclass(frozen=True, slots=True)
class LearningReview(Answer):
    """Review of a group's memory for a caller, with the current embedding model.

    `weight` is the worth of all votes together, in cosine; `repeats` that of repeated messages,
    independent of the weight.
    """

    on: bool
    experiences: int
    of_other_models: Annotated[
        int, Shown("Experiences with vectors of a model that is not in use.")
    ]
    turns: int
    oldest_at: datetime | None
    newest_at: datetime | None
    weight: Annotated[float, Shown("The weight of all votes together, in cosine.")]
    repeats: Annotated[float, Shown("The weight of votes of repeated messages.")]
    check: tuple[LevelCheck, ...]
    capabilities: Annotated[tuple[LearnedCapability, ...], Shown("The fifty most called tools.")]


def review(*, caller: Caller) -> LearningReview:
    """Review a group's memory, counting only what the caller may use."""
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
    vote_gains, number = _sum_gains(comparable)
    level = choose_level(vote_gains) if settings.PEGBOARD_LEARNING else OFF
    divisor = max(1, number)
    rows = (
        comparable.values_list("capability__full_name")
        .annotate(
            times=Count("pk"), failed=Count("pk", filter=Q(worth__lt=0)), last=Max("created_at")
        )
        .order_by("-times", "capability__full_name")[:MOST_NAMED]
    )
    return LearningReview(
        on=settings.PEGBOARD_LEARNING,
        of_other_models=usable.count() - about["experiences"],
        weight=LEVELS[level] if level != OFF else 0.0,
        repeats=REPEAT_WEIGHT if level != OFF else 0.0,
        check=tuple(
            LevelCheck(weight, round(gain / divisor, 4), round(square**0.5 / divisor, 4))
            for weight, gain, square in zip(
                LEVELS, vote_gains.gains, vote_gains.squares, strict=True
            )
        ),
        capabilities=tuple([LearnedCapability(*row) for row in rows]),
        **about,
    )


@transaction.atomic
def reset(*, by: User | None, group: Group) -> int:
    """Delete all experiences of a group, and what it was taught; return the experiences' number."""
    number, _ = Experience.objects.filter(group=group).delete()
    TaughtMessage.objects.filter(group=group).delete()
    details = {"experiences": number}
    record(by=by, action="learning.reset", target=group.name, details=details, groups=[group.pk])
    return number


@transaction.atomic
def forget(*, by: User | None, experiences: QuerySet[Experience]) -> None:
    """Delete some experiences; the audit log gets their number per group.

    A taught message goes with any of its experiences, or it would be learned again.
    """
    numbers = experiences.order_by().values_list("group__name").annotate(number=Count("pk"))
    for name, number in sorted(numbers):
        record(by=by, action="learning.forget", target=name, details={"experiences": number})
    keys = list(experiences.order_by().values_list("pk", flat=True))
    TaughtMessage.objects.filter(experiences__in=keys).delete()
    Experience.objects.filter(pk__in=keys).delete()


def _sum_gains(comparable: QuerySet[Experience]) -> tuple[VoteGains, int]:
    """Sum the gains of the experiences that a selection reads."""
    newest = comparable.order_by("-pk").values_list("gains", flat=True)
    rows = list(newest[: min(MOST_CHECKED, settings.PEGBOARD_LEARNING_MOST)])
    if not rows:
        return VoteGains(), 0
    gains = np.array(rows)
    return VoteGains(gains.sum(axis=0).tolist(), (gains**2).sum(axis=0).tolist()), len(rows)
