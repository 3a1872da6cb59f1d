"""Outcome windows: the success rates of a scope's latest outcomes.

Postgres is the source of truth. Redis holds a copy for five minutes, as a sorted set by primary
key. Additions and a concurrent reload give the same set in any order; a lost addition is repaired
at the latest when the copy expires.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, inf
from typing import Annotated, Any, NamedTuple, cast

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models import Window as Newest
from django.db.models.functions import RowNumber
from redis import Redis

from acl.models import Space
from acl.platform.answer_model import Answer, Shown
from acl.platform.redis_circuit import attempt
from discovery.models import Outcome

SECONDS = 300  # that a copy is kept; afterwards it is read anew
# Marks a copy as complete. Its score, infinity, ranks it above all outcomes.
_COMPLETE = "whole"
# An addition must not extend the copy's life, or lost outcomes would stay lost.
_ADD = """
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[3] - 2)
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return 1
"""


@dataclass(frozen=True, slots=True)
class WindowScope:
    """A set of outcomes: of a space, of a group's root (no space), or of everyone (no group).

    Or those of an application, beside these.
    """

    kind: str
    group_id: int | None = None
    space_id: int | None = None
    application_id: int | None = None

    @property
    def key(self) -> str:
        """Return the scope as text, unique for its set of outcomes."""
        match self.kind:
            case "global":
                return "global"
            case "application":
                return f"application:{self.application_id}"
            case "group":
                return f"group:{self.group_id}"
        return f"group:{self.group_id}/space:{self.space_id or 'root'}"


class Sample(NamedTuple):
    """An outcome in a window."""

    pk: int
    status: str
    score: float


@dataclass(frozen=True, slots=True)
class Window(Answer):
    """The latest outcomes of a place taken together."""

    component = "OutcomeWindow"

    scope: Annotated[WindowScope, Shown(type=str)]
    samples: int
    success: int
    partial: int
    failed: int
    success_rate: float | None
    average_score: float | None
    weighted_rate: Annotated[
        float | None, Shown("The success rate, counting partial successes as half.")
    ]

    def falls_below(self, threshold: float, *, least: int) -> bool:
        """Return True if at least `least` samples have a rate below the threshold."""
        rate = self.weighted_rate
        return rate is not None and self.samples >= least and rate < threshold


def normalize_space(space_id: int | None) -> int | None:
    """Return the space, or None for a group's root, which callers may name or omit."""
    if space_id is None or Space.objects.filter(pk=space_id, parent=None).exists():
        return None
    return space_id


def scope_of(group_id: int, place: int | None) -> WindowScope:
    """Return the scope of a group and normalized space, by PEGBOARD_OUTCOME_SCOPE."""
    kind = settings.PEGBOARD_OUTCOME_SCOPE
    if kind == "global":
        return WindowScope(kind)
    return WindowScope(kind, group_id, place if kind == "space" else None)


def read_window(scope: WindowScope) -> Window:
    """Read the current window from Redis, or else from Postgres."""
    # Uncommitted outcomes must not get into the shared copy.
    samples = None if connection.in_atomic_block else attempt(_ReadCopy(scope), default=None)
    if samples is None:
        samples = read_stored_samples(scope)
        if not connection.in_atomic_block:
            attempt(_CompleteCopy(scope, samples), default=None)
    return window_of(scope, samples)


def add_sample(scope: WindowScope, sample: Sample) -> None:
    """Add a stored outcome to the copy. If Redis is down, the next reload includes it."""
    arguments: tuple[str | int, ...] = (
        sample.pk,
        _encode(sample),
        settings.PEGBOARD_OUTCOME_WINDOW,
        SECONDS,
    )
    attempt(lambda redis: redis.eval(_ADD, 1, _key(scope), *arguments), default=None)


def read_stored_samples(scope: WindowScope) -> list[Sample]:
    """Return the scope's newest outcomes from Postgres."""
    rows = Outcome.objects.order_by("-pk")
    if scope.kind == "application":
        rows = rows.filter(application=scope.application_id)
    if scope.group_id is not None:
        rows = rows.filter(group=scope.group_id)
    if scope.kind == "space":
        rows = rows.filter(space=scope.space_id) if scope.space_id else rows.filter(space=None)
    newest = rows.values_list("pk", "status", "score")[: settings.PEGBOARD_OUTCOME_WINDOW]
    return [Sample(*row) for row in newest]


def read_stored_windows(group_id: int | None) -> list[Window]:
    """Return all windows with samples of a group, or of all groups, in one statement."""
    kind = settings.PEGBOARD_OUTCOME_SCOPE
    if kind == "global":
        return [read_window(WindowScope(kind))] if group_id is None else []
    parts = ["group", "space"] if kind == "space" else ["group"]
    newest = Newest(RowNumber(), partition_by=parts, order_by=F("pk").desc())
    rows = Outcome.objects.filter(**({} if group_id is None else {"group": group_id}))
    rows = rows.annotate(place=newest).filter(place__lte=settings.PEGBOARD_OUTCOME_WINDOW)
    in_order = rows.order_by("group", F("space").asc(nulls_first=True), "-pk")
    samples: dict[WindowScope, list[Sample]] = {}
    for row in in_order:
        sample = Sample(row.pk, row.status, row.score)
        samples.setdefault(scope_of(row.group_id, row.space_id), []).append(sample)
    return [window_of(scope, of_scope) for scope, of_scope in samples.items()]


def window_of(scope: WindowScope, samples: Iterable[Sample]) -> Window:
    """Compute the window of some samples, in any order."""
    all_samples = list(samples)
    count = len(all_samples)
    by_status = dict.fromkeys(Outcome.Status.values, 0)
    for sample in all_samples:
        by_status[sample.status] += 1
    weighted = by_status["success"] + by_status["partial"] / 2
    return Window(
        scope=scope,
        samples=count,
        **by_status,
        success_rate=by_status["success"] / count if count else None,
        average_score=fsum(sample.score for sample in all_samples) / count if count else None,
        weighted_rate=weighted / count if count else None,
    )


@dataclass(frozen=True, slots=True)
class _ReadCopy:
    """Redis command that reads the copy; None if it is incomplete."""

    scope: WindowScope

    def __call__(self, redis: Redis) -> list[Sample] | None:
        entries = redis.zrevrange(_key(self.scope), 0, settings.PEGBOARD_OUTCOME_WINDOW)
        members = [member.decode() for member in cast("list[bytes]", entries)]
        if not members or members[0] != _COMPLETE:
            return None
        try:
            return [_decode(member) for member in members[1:]]
        except ValueError:
            return None  # written by another version of Pegboard


@dataclass(frozen=True, slots=True)
class _CompleteCopy:
    """Redis command that completes the copy, keeping concurrent additions."""

    scope: WindowScope
    samples: list[Sample]

    def __call__(self, redis: Redis) -> None:
        key, size = _key(self.scope), settings.PEGBOARD_OUTCOME_WINDOW
        members: dict[str, Any] = {_encode(sample): sample.pk for sample in self.samples}
        steps = redis.pipeline(transaction=True)
        steps.zadd(key, {**members, _COMPLETE: inf})
        steps.zremrangebyrank(key, 0, -size - 2)
        steps.expire(key, SECONDS)
        steps.execute()


def _key(scope: WindowScope) -> str:
    # The size is part of the key, so that changing the setting does not reuse a shorter window.
    return f"pegboard:outcomes:{settings.PEGBOARD_OUTCOME_WINDOW}:{scope.key}"


def _encode(sample: Sample) -> str:
    return f"{sample.pk}:{sample.status}:{sample.score!r}"


def _decode(member: str) -> Sample:
    pk, status, score = member.split(":")
    return Sample(int(pk), status, float(score))
