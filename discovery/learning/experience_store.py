"""Experiences: stored, reviewed and reset by admins, and deleted when they expire."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone
from pgvector import HalfVector, Vector

from acl.audit.recorder import record
from acl.platform.answer_model import Answer, Shown
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, EmbeddingModel
from discovery.learning.memory import (
    LEVELS,
    MOST_CHECKED,
    NEWEST_OF_KIND,
    OFF,
    REPEAT_WEIGHT,
    VoteGains,
    choice_worth,
    choose_level,
)
from discovery.models import Experience, TaughtMessage, Turn

# Notes of turns: a message's vector, its model, and the votes' gains for each candidate.
# A turn keeps them until its outcome is reported. They contain no word of the message.

NOTHING = (0.0,) * len(LEVELS)
_STEPS = 100  # gains are stored in hundredths, one byte each
_HEAD = struct.Struct("<BHH")
_GAINS = struct.Struct(f"<q{len(LEVELS)}b")
_HALVES = np.dtype("<f2")


@dataclass(frozen=True, slots=True)
class Note:
    """The message's vector by `model`, and the votes' gains by capability and level."""

    model: str
    vector: npt.NDArray[np.floating]
    gains: Mapping[int, tuple[float, ...]]

    def gains_for(self, capability: int) -> tuple[float, ...]:
        return self.gains.get(capability, NOTHING)


def write_note(note: Note) -> bytes:
    """Pack a note into bytes, a tenth of the time and space that text would need."""
    model = note.model.encode()
    gains = (
        _GAINS.pack(key, *(round(gain * _STEPS) for gain in row)) for key, row in note.gains.items()
    )
    head = _HEAD.pack(len(model), len(note.vector), len(note.gains))
    return b"".join((head, model, note.vector.astype(_HALVES).tobytes(), *gains))


def read_note(content: bytes) -> Note:
    """Unpack a note."""
    of_model, of_vector, _ = _HEAD.unpack_from(content)
    vector_at = _HEAD.size + of_model
    gains_at = vector_at + of_vector * _HALVES.itemsize
    return Note(
        content[_HEAD.size : vector_at].decode(),
        np.frombuffer(content[vector_at:gains_at], dtype=_HALVES),
        {
            key: tuple(step / _STEPS for step in steps)
            for key, *steps in _GAINS.iter_unpack(content[gains_at:])
        },
    )


# A turn with this many calls says little about any one of them.
MOST_CALLED = 10
# Kept per user and capability, newest first. The limit of one capability must not depend on
# another, which a colleague may not even know of.
MOST_KEPT = 100
# Below this cosine distance two messages are the same. The newest are kept, as many as decide about
# a kind of message.
SAME_DISTANCE = 0.001


def record_experience(*, turn: Turn, called: Sequence[int], score: float) -> None:
    """Record that a turn called these capabilities (primary keys), with this score.

    Runs in the transaction that stores the outcome. A turn without a note, for lack of a vector or
    with learning off, records nothing.
    """
    if not turn.noted:
        return
    note = read_note(bytes(turn.noted))
    Turn.objects.filter(pk=turn.pk).update(noted=None)
    model = EmbeddingModel.objects.filter(name=note.model).first()
    if settings.PEGBOARD_LEARNING and model is not None and called:
        _learn(turn, note, model, called[:MOST_CALLED], choice_worth(score))


def _learn(
    turn: Turn, note: Note, model: EmbeddingModel, called: Sequence[int], worth: float
) -> None:
    _make_room(turn, note, model, called)
    Experience.objects.bulk_create(
        [
            Experience(
                group_id=turn.group_id,
                user_id=turn.user_id,
                capability_id=capability,
                model=model,
                turn=turn.pk,
                vector=HalfVector(note.vector),
                worth=worth,
                # If a call failed, votes against it were right: a negative worth turns their sign.
                gains=Vector([worth * gain for gain in note.gains_for(capability)]),
            )
            for capability in called
        ],
        ignore_conflicts=True,
    )


def _make_room(turn: Turn, note: Note, model: EmbeddingModel, called: Sequence[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _MAKE_ROOM,
            {
                "group": turn.group_id,
                "user": turn.user_id,
                "model": model.pk,
                "called": list(called),
                "vector": HalfVector(note.vector).to_text(),
                "same": SAME_DISTANCE,
                "again": NEWEST_OF_KIND,
                "most": MOST_KEPT,
            },
        )


_MAKE_ROOM = """
DELETE FROM discovery_experience WHERE id IN (
  SELECT id FROM (
    SELECT id, is_same, row_number() OVER (PARTITION BY capability_id ORDER BY id DESC) AS place,
           row_number() OVER (PARTITION BY capability_id, is_same ORDER BY id DESC) AS again
    FROM (
      SELECT id, capability_id, vector <=> %(vector)s::halfvec < %(same)s AS is_same
      FROM discovery_experience
      WHERE capability_id = ANY (%(called)s) AND group_id = %(group)s AND user_id = %(user)s
        AND model_id = %(model)s AND taught_id IS NULL) each) own
  WHERE (is_same AND again >= %(again)s) OR place >= %(most)s)
"""


NOTE_DAYS = 7
# A group stores several times what is read for one caller, since callers may use different tools.
# Beyond this factor the oldest go.
GROUP_FACTOR = 10


def delete_expired() -> int:
    """Delete what has expired; return the number of experiences. Taught ones do not expire."""
    now = timezone.now()
    Turn.objects.filter(noted__isnull=False, created_at__lt=now - timedelta(days=NOTE_DAYS)).update(
        noted=None
    )
    days = timedelta(days=settings.PEGBOARD_LEARNING_DAYS)
    old, _ = Experience.objects.filter(created_at__lt=now - days, taught__isnull=True).delete()
    return old + _delete_surplus()


def _delete_surplus() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_SURPLUS, {"most": GROUP_FACTOR * settings.PEGBOARD_LEARNING_MOST})
        return int(cursor.rowcount)


_SURPLUS = """
DELETE FROM discovery_experience WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY group_id ORDER BY id DESC) AS place
    FROM discovery_experience WHERE taught_id IS NULL) own
  WHERE place > %(most)s)
"""


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
