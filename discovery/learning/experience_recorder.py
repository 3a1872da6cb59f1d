"""What is learned when a turn's outcome is told."""

from collections.abc import Sequence

from django.conf import settings
from django.db import connection
from pgvector import HalfVector, Vector

from catalog.models import EmbeddingModel
from discovery.learning.past_use import worth_of
from discovery.learning.turn_notes import Note, read_note
from discovery.models import Experience, Turn

# Who calls this many things at once says little about any of them.
MOST_CALLED = 10
# Of one user for one capability so many are kept, the newest. What is kept of one capability never
# depends on another, which a colleague may not even know of.
MOST_KEPT = 100
# Nearer than this it is the same message again: the newer one replaces the older.
THE_SAME = 0.001


def record(*, turn: Turn, called: Sequence[int], score: float) -> None:
    """Learn that these capabilities, by primary key, were called in the turn with this success.

    In the transaction of whoever stores the outcome. Nothing is learned from a turn without a note:
    where no vector was there, or learning was off when it was asked.
    """
    if not turn.noted:
        return
    note = read_note(bytes(turn.noted))
    Turn.objects.filter(pk=turn.pk).update(noted=None)
    model = EmbeddingModel.objects.filter(name=note.model).first()
    if settings.PEGBOARD_LEARNING and model is not None and called:
        _learn(turn, note, model, called[:MOST_CALLED], worth_of(score))


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
                # Where a call failed, the votes were right not to speak for it.
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
                "same": THE_SAME,
                "most": MOST_KEPT,
            },
        )


_MAKE_ROOM = """
DELETE FROM discovery_experience WHERE id IN (
  SELECT id FROM (
    SELECT id, vector <=> %(vector)s::halfvec AS distance,
           row_number() OVER (PARTITION BY capability_id ORDER BY id DESC) AS place
    FROM discovery_experience
    WHERE capability_id = ANY (%(called)s) AND group_id = %(group)s AND user_id = %(user)s
      AND model_id = %(model)s) own
  WHERE distance < %(same)s OR place >= %(most)s)
"""
