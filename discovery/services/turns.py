"""Turns: what was asked and answered, kept so that outcomes can be reported and savings
measured."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from acl.callers import Caller
from acl.chain import CredentialKind
from acl.database_room import write_if_room
from acl.delegation import acts_for_others
from acl.models import chain_columns
from acl.request_context import current_chain
from acl.services.keys import KeyHolder
from catalog.models import Capability
from discovery.lifecycle import ENDED, State, Step, steps_of, take_step
from discovery.models import Called, Outcome, Turn
from discovery.selected import Asked, Selection
from discovery.services.selection import select_capabilities

NOT_STORED = "This turn was not stored: the database has no room to write."


class TurnEnded(Exception):
    """The turn has ended before, and stays as it is."""

    def __init__(self, state: str) -> None:
        super().__init__(f"The turn has ended already: it is {state}.")
        self.state = state


def select_for_turn(asked: Asked) -> Selection:
    """A selection whose turn is stored: one statement more than `select_capabilities`.

    Where the database has no room for the turn, the selection says so and has none.
    """
    selection = select_capabilities(asked)
    return write_if_room(
        lambda: replace(selection, turn_id=store_turn(asked, selection).pk),
        otherwise=lambda: replace(selection, degraded=(*selection.degraded, NOT_STORED)),
    )


def store_turn(asked: Asked, selection: Selection | None, **more: Any) -> Turn:
    """The turn's row, in one statement; `more` says what a plan adds."""
    told: dict[str, Any] = {}
    if selection is not None:
        told = {
            "selected": [[item.identifier, item.score] for item in selection.selected],
            "tokens_all": selection.tokens_all,
            "tokens_selected": selection.tokens_selected,
            "degraded": list(selection.degraded),
            "milliseconds": selection.timings["total"],
            "noted": selection.noted,
        }
    if current_chain().acts_for_other(asked.caller.user_id):
        told["noted"] = None  # what others try in a user's name teaches nothing about that user
    return Turn.objects.create(
        user_id=asked.caller.user_id,
        group_id=asked.caller.group_id,
        space_id=asked.caller.space_id,
        other_groups=list(asked.caller.other_groups),
        message=asked.message if settings.PEGBOARD_KEEP_MESSAGES else "",
        **chain_columns(),
        **{**told, **more},
    )


def turns_of(principal: KeyHolder | User, *, acting: bool) -> QuerySet[Turn]:
    """Return the turns that somebody may read, or, `acting`, take on: those of whom they may act
    for at this moment. Staff read all, and take on what they began as another person."""
    # Whoever has left the group or was deactivated is nobody to act for.
    turns = Turn.objects.filter(user__is_active=True, user__groups=F("group"))
    if isinstance(principal, KeyHolder):
        turns = turns.filter(principal.in_groups())
        return turns if principal.acts_for_users else turns.filter(user=principal.owner_id)
    if principal.is_staff and not acting:
        return turns
    mine = Q(user=principal)
    if acts_for_others(principal):
        mine |= Q(actor=principal, credential=CredentialKind.SESSION)
    return turns.filter(mine)


def caller_of_turn(turn: Turn) -> Caller:
    """Whom the turn was for."""
    return Caller(turn.user_id, turn.group_id, turn.space_id, tuple(turn.other_groups))


def start_turn(turn: Turn) -> Turn:
    """Say that the turn is under way; saying it again changes nothing. Raises TurnEnded."""
    take_step(turn.pk, State.EXECUTING, at=timezone.now())
    turn.refresh_from_db()
    if turn.state in ENDED:
        raise TurnEnded(turn.state)
    return turn


def note_discovery(turn_id: UUID, caller: Caller, found: int) -> None:
    """Count that a model looked for tools in a turn, and whether it found any.

    A turn that is somebody else's is left alone, as one that does not exist.
    """
    if current_chain().acts_for_other(caller.user_id):
        return
    turns = Turn.objects.filter(pk=turn_id, user=caller.user_id, group__in=caller.group_ids)
    counted = {
        "discovery_calls": F("discovery_calls") + 1,
        "discovery_empty": F("discovery_empty") + (0 if found else 1),
    }
    write_if_room(lambda: turns.update(**counted), otherwise=lambda: 0)


@dataclass(frozen=True, slots=True)
class TurnTold:
    """How a turn stands, without what its caller may no longer use."""

    turn: Turn
    lifecycle: tuple[Step, ...]
    selected: tuple[dict[str, Any], ...]
    called: tuple[Called, ...]
    outcome: Outcome | None


def tell_turn(turn: Turn) -> TurnTold:
    """What may be told of it at this moment."""
    outcome = getattr(turn, "outcome", None)
    calls = list(outcome.known_calls.select_related("capability")) if outcome else []
    called = {call.capability.identifier: call for call in calls if call.capability}
    usable = _usable_ones(turn, {identifier for identifier, _ in turn.selected} | called.keys())
    return TurnTold(
        turn=turn,
        lifecycle=tuple(steps_of(turn)),
        selected=tuple(
            {"id": identifier, "score": score}
            for identifier, score in turn.selected
            if identifier in usable
        ),
        called=tuple(call for identifier, call in called.items() if identifier in usable),
        outcome=outcome,
    )


def _usable_ones(turn: Turn, identifiers: Collection[str]) -> set[str]:
    """Of these, what the turn's caller may use now."""
    usable = Capability.objects.usable_by(caller_of_turn(turn), unavailable=True)
    named = usable.filter(identifier__in=identifiers)
    return set(named.values_list("identifier", flat=True))
