"""The latest outcomes of a place taken together: how well turns go there.

Postgres has the truth. Redis has a copy for five minutes, a sorted set by the outcomes' keys:
adding to it in any order, and reading it all anew beside that, give the same set. What is lost on
the way to it is there after those minutes at the latest.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, inf
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models import Window as Newest
from django.db.models.functions import RowNumber
from redis import Redis

from acl.models import Space
from acl.platform.redis_circuit import attempt
from discovery.models import Outcome

SECONDS = 300
# Says that the set was read from Postgres as a whole; it stands above every key.
_WHOLE = "whole"
# An addition never makes the copy live longer, or what was lost would stay lost.
_ADD = """
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[3] - 2)
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return 1
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose outcomes are taken together; without a space it is the group's root, and without a
    group everybody's."""

    kind: str
    group_id: int | None = None
    space_id: int | None = None

    @property
    def key(self) -> str:
        """The scope as text, the same for the same outcomes."""
        match self.kind:
            case "global":
                return "global"
            case "group":
                return f"group:{self.group_id}"
        return f"group:{self.group_id}/space:{self.space_id or 'root'}"


class Sample(NamedTuple):
    """One outcome in a window."""

    pk: int
    status: str
    score: float


@dataclass(frozen=True, slots=True)
class Window:
    """What the latest outcomes of a scope say; the rates are None where there are none."""

    scope: Scope
    samples: int
    success: int
    partial: int
    failed: int
    success_rate: float | None
    average_score: float | None
    # A partial success counts half.
    weighted_rate: float | None

    def falls_below(self, threshold: float, *, least: int) -> bool:
        """Whether there are samples enough and they go badly."""
        rate = self.weighted_rate
        return rate is not None and self.samples >= least and rate < threshold


def place_of(space_id: int | None) -> int | None:
    """The space, or None where it is a root: callers may name it or leave it out."""
    if space_id is None or Space.objects.filter(pk=space_id, parent=None).exists():
        return None
    return space_id


def scope_of(group_id: int, place: int | None) -> Scope:
    """The scope that the settings make of a place; `place_of` tells the place of a space."""
    kind = settings.PEGBOARD_OUTCOME_SCOPE
    if kind == "global":
        return Scope(kind)
    return Scope(kind, group_id, place if kind == "space" else None)


def read_window(scope: Scope) -> Window:
    """The window as it is now, from Redis or else from Postgres."""
    # What is not committed yet must not become known to others.
    samples = None if connection.in_atomic_block else attempt(_Reading(scope), default=None)
    if samples is None:
        samples = stored_samples(scope)
        if not connection.in_atomic_block:
            attempt(_Sharing(scope, samples), default=None)
    return window_of(scope, samples)


def add_sample(scope: Scope, sample: Sample) -> None:
    """Add a stored outcome to the copy; where Redis is away, nothing is lost but time."""
    given: tuple[str | int, ...] = (
        sample.pk,
        _written(sample),
        settings.PEGBOARD_OUTCOME_WINDOW,
        SECONDS,
    )
    attempt(lambda redis: redis.eval(_ADD, 1, _key(scope), *given), default=None)


def stored_samples(scope: Scope) -> list[Sample]:
    """The newest of the scope as Postgres has them."""
    rows = Outcome.objects.order_by("-pk")
    if scope.group_id is not None:
        rows = rows.filter(group=scope.group_id)
    if scope.kind == "space":
        rows = rows.filter(space=scope.space_id) if scope.space_id else rows.filter(space=None)
    newest = rows.values_list("pk", "status", "score")[: settings.PEGBOARD_OUTCOME_WINDOW]
    return [Sample(*row) for row in newest]


def stored_windows(group_id: int | None) -> list[Window]:
    """All windows of a group, or of everybody, that have samples: one statement, from Postgres."""
    kind = settings.PEGBOARD_OUTCOME_SCOPE
    if kind == "global":
        return [read_window(Scope(kind))] if group_id is None else []
    parts = ["group", "space"] if kind == "space" else ["group"]
    newest = Newest(RowNumber(), partition_by=parts, order_by=F("pk").desc())
    rows = Outcome.objects.filter(**({} if group_id is None else {"group": group_id}))
    rows = rows.annotate(place=newest).filter(place__lte=settings.PEGBOARD_OUTCOME_WINDOW)
    in_order = rows.order_by("group", F("space").asc(nulls_first=True), "-pk")
    samples: dict[Scope, list[Sample]] = {}
    for row in in_order:
        sample = Sample(row.pk, row.status, row.score)
        samples.setdefault(scope_of(row.group_id, row.space_id), []).append(sample)
    return [window_of(scope, of_scope) for scope, of_scope in samples.items()]


def window_of(scope: Scope, samples: Iterable[Sample]) -> Window:
    """The figures of some samples, in whatever order they come."""
    all_of_them = list(samples)
    count = len(all_of_them)
    by_status = dict.fromkeys(Outcome.Status.values, 0)
    for sample in all_of_them:
        by_status[sample.status] += 1
    weighted = by_status["success"] + by_status["partial"] / 2
    return Window(
        scope=scope,
        samples=count,
        **by_status,
        success_rate=by_status["success"] / count if count else None,
        average_score=fsum(sample.score for sample in all_of_them) / count if count else None,
        weighted_rate=weighted / count if count else None,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The copy, if it is whole."""

    scope: Scope

    def __call__(self, redis: Redis) -> list[Sample] | None:
        found = redis.zrevrange(_key(self.scope), 0, settings.PEGBOARD_OUTCOME_WINDOW)
        members = [member.decode() for member in cast("list[bytes]", found)]
        if not members or members[0] != _WHOLE:
            return None
        try:
            return [_read(member) for member in members[1:]]
        except ValueError:
            return None  # written by another release


@dataclass(frozen=True, slots=True)
class _Sharing:
    """The copy made whole, beside what others have added meanwhile."""

    scope: Scope
    samples: list[Sample]

    def __call__(self, redis: Redis) -> None:
        key, size = _key(self.scope), settings.PEGBOARD_OUTCOME_WINDOW
        members: dict[str, Any] = {_written(sample): sample.pk for sample in self.samples}
        steps = redis.pipeline(transaction=True)
        steps.zadd(key, {**members, _WHOLE: inf})
        steps.zremrangebyrank(key, 0, -size - 2)
        steps.expire(key, SECONDS)
        steps.execute()


def _key(scope: Scope) -> str:
    # With the size, so that another setting does not read a shorter window.
    return f"pegboard:outcomes:{settings.PEGBOARD_OUTCOME_WINDOW}:{scope.key}"


def _written(sample: Sample) -> str:
    return f"{sample.pk}:{sample.status}:{sample.score!r}"


def _read(member: str) -> Sample:
    pk, status, score = member.split(":")
    return Sample(int(pk), status, float(score))
