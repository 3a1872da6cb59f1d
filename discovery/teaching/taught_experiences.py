"""Experiences of taught messages: their gains, and their tools' places before and after.

Each message is asked with the experiences of all others, and not its own. So the gains, by which a
group's weight rises, and the places that the page shows, are those of a message that nobody taught.
"""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from pgvector import HalfVector, Vector

from acl.platform.held_locks import try_lock
from acl.rights.caller_lookup import Caller
from catalog.models import EmbeddingModel
from discovery.learning.experience_store import NOTHING, Note, read_note
from discovery.learning.past_use import choice_worth
from discovery.models import Experience, TaughtMessage
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities

_LOCK = "discovery.learn_taught"


def learn_taught() -> int:
    """Learn all taught messages that are pending; return their number.

    Safe to run twice: a second run beside this one does nothing, and the next sweep finds what it
    has left. Nothing is learned while learning is off or no model answers.
    """
    if not settings.PEGBOARD_LEARNING:
        return 0
    with try_lock(_LOCK) as acquired:
        if not acquired:
            return 0
        model = EmbeddingModel.objects.filter(active=True).first()
        groups = _pending_groups(model) if model else []
        return sum(_learn_group(group, model) for group in groups if model)


def _pending_groups(model: EmbeddingModel | None) -> list[int]:
    taught = TaughtMessage.objects.filter(state=TaughtMessage.State.CONFIRMED)
    pending = taught.filter(Q(learned_by__isnull=True) | ~Q(learned_by=model))
    return list(pending.order_by("group").values_list("group", flat=True).distinct())


def _learn_group(group: int, model: EmbeddingModel) -> int:
    taught = list(
        TaughtMessage.objects.filter(
            group=group, state=TaughtMessage.State.CONFIRMED
        ).prefetch_related("tools")
    )
    missing = [
        message for message in taught if not message.experiences.filter(model=model).exists()
    ]
    if not all(_remember(message, model) for message in missing):
        return 0
    # Gains first: they decide the weight by which the places come about.
    for message in taught:
        note = _note(_select(message, (message.pk,)))
        for tool in message.tools.all():
            gains = note.gains_for(tool.pk) if note else NOTHING
            Experience.objects.filter(taught=message, capability=tool).update(
                gains=Vector([*gains])
            )
    every = tuple(message.pk for message in taught)
    for message in taught:
        before, after = _places(message, every), _places(message, (message.pk,))
        TaughtMessage.objects.filter(pk=message.pk).update(
            learned_by=model, places_before=before, places_after=after
        )
    return len(taught)


def _remember(taught: TaughtMessage, model: EmbeddingModel) -> bool:
    """Store the message's experiences, without gains; False without a vector of the model."""
    note = _note(_select(taught, (taught.pk,)))
    if note is None or note.model != model.name:
        return False
    rows = [
        Experience(
            group_id=taught.group_id,
            user_id=taught.user_id,
            capability=tool,
            model=model,
            turn=taught.pk,
            taught=taught,
            vector=HalfVector(note.vector),
            worth=choice_worth(1.0),
            gains=Vector([*NOTHING]),
        )
        for tool in taught.tools.all()
    ]
    with transaction.atomic():
        # Another model's go: an experience is unique by turn and capability.
        Experience.objects.filter(taught=taught).delete()
        if TaughtMessage.objects.select_for_update().filter(pk=taught.pk).exists():
            Experience.objects.bulk_create(rows)
    return True


def _places(taught: TaughtMessage, apart: Sequence[UUID]) -> list[int]:
    ranking = _select(taught, apart).ranking
    places = {identifier: place for place, identifier in enumerate(ranking, 1)}
    return [
        places.get(tool.identifier, 0)
        for tool in sorted(taught.tools.all(), key=lambda tool: tool.pk)
    ]


def _select(taught: TaughtMessage, apart: Sequence[UUID]) -> Selection:
    caller = Caller(taught.user_id, taught.group_id)
    return select_capabilities(SelectRequest(taught.message, caller, apart=tuple(apart)))


def _note(selection: Selection) -> Note | None:
    return read_note(bytes(selection.noted)) if selection.noted else None
