"""Stored experiences: recorded when a turn's outcome is reported, deleted when they expire."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pgvector import HalfVector, Vector

from catalog.models import EmbeddingModel
from discovery.learning.memory import LEVELS, NEWEST_OF_KIND, choice_worth
from discovery.models import Experience, Turn

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
