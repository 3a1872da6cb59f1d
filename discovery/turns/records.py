"""Turns as stored: the request and the answer, for reporting outcomes and measuring savings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from acl.actor import CredentialKind, current_chain
from acl.keys.lifecycle import KeyHolder
from acl.models import chain_columns
from acl.models.application import stored_conversation
from acl.platform.answer_model import Answer, Shown
from acl.platform.database_connections import insert_row
from acl.platform.database_work import write_if_room
from acl.rights.caller_lookup import Caller, rows_of_application
from acl.rights.delegation import acts_for_others
from catalog.models import Capability
from discovery.advice.advised import select_advised
from discovery.flow_guard.turn_memory import seal_words
from discovery.models import Called, Outcome, Turn
from discovery.select.selection import Selection, SelectRequest

# Turn states: planned → executing → degraded → recovered → completed or errored.
# A transition is one conditional UPDATE: of two concurrent ones, one succeeds and the other
# learns it.

State = Turn.State

# States may be skipped: a backend need not report that a turn started.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.EXECUTING, State.DEGRADED, State.COMPLETED, State.ERRORED}),
    State.EXECUTING: frozenset({State.DEGRADED, State.COMPLETED, State.ERRORED}),
    State.DEGRADED: frozenset({State.RECOVERED, State.COMPLETED, State.ERRORED}),
    State.RECOVERED: frozenset({State.COMPLETED, State.ERRORED}),
    State.COMPLETED: frozenset(),
    State.ERRORED: frozenset(),
}
ENDED = frozenset(state for state, following in TRANSITIONS.items() if not following)
_TIMES = {
    State.PLANNED: "created_at",
    State.EXECUTING: "executing_at",
    State.DEGRADED: "degraded_at",
    State.RECOVERED: "recovered_at",
    State.COMPLETED: "ended_at",
    State.ERRORED: "ended_at",
}


@dataclass(frozen=True, slots=True)
class TurnStep(Answer):
    """A state of a turn, and the time it was entered."""

    state: Annotated[State, Shown(choices=State.choices)]
    at: datetime


def transition(turn: UUID, to: State, *, at: datetime) -> bool:
    """Move the turn to a state if it may go there; return True if it moved."""
    sources = [state for state, following in TRANSITIONS.items() if to in following]
    rows = Turn.objects.filter(pk=turn, state__in=sources)
    return rows.update(state=to, **{_TIMES[to]: at}) == 1


def list_steps(turn: Turn) -> list[TurnStep]:
    """Return the states that the turn has passed through, in order."""
    times = ((state, getattr(turn, column)) for state, column in _TIMES.items())
    return [
        TurnStep(state, at)
        for state, at in times
        if at is not None and (state not in ENDED or state == turn.state)
    ]


NOT_STORED = "This turn was not stored: the database is out of disk space."


class TurnEnded(Exception):
    """The turn has already ended and does not change."""

    def __init__(self, state: str) -> None:
        super().__init__(f"The turn has ended already: it is {state}.")
        self.state = state


def select_for_turn(request: SelectRequest) -> Selection:
    """Select and store the turn: one statement more than `select_advised`.

    If the database has no room for the turn, the selection says so and has no turn id.
    """
    selection = select_advised(replace(request, may_lag=True))
    return write_if_room(
        lambda: replace(selection, turn_id=store_turn(request, selection).pk),
        otherwise=lambda: replace(selection, degraded=(*selection.degraded, NOT_STORED)),
    )


def store_turn(request: SelectRequest, selection: Selection | None, **more: Any) -> Turn:
    """Store the turn in one statement; `more` holds the columns that a plan adds."""
    columns: dict[str, Any] = {}
    if selection is not None:
        columns = {
            "selected": [[item.identifier, item.score] for item in selection.selected],
            "tokens_all": selection.tokens_all,
            "tokens_selected": selection.tokens_selected,
            "degraded": list(selection.degraded),
            "milliseconds": selection.timings["total"],
            "noted": selection.noted,
        }
    if current_chain().acts_for_other(request.caller.user_id):
        columns["noted"] = None  # an actor's attempts must not train the user's group
    pk = uuid4()
    turn = Turn(
        id=pk,
        sealed_words=seal_words(pk, request.message),
        user_id=request.caller.user_id,
        group_id=request.caller.group_id,
        space_id=request.caller.space_id,
        other_groups=list(request.caller.other_groups),
        application_id=request.caller.application_id,
        conversation=stored_conversation(request.conversation),
        message=request.message if settings.PEGBOARD_KEEP_MESSAGES else "",
        **chain_columns(),
        **{**columns, **more},
    )
    insert_row(turn)
    return turn


def turns_of(principal: KeyHolder | User, *, acting: bool) -> QuerySet[Turn]:
    """Return the turns that the principal may read or, with `acting`, report on.

    Staff read all turns, and report on those that they started as another person.
    """
    # Users who left the group or were deactivated have no turns to act on.
    turns = Turn.objects.filter(user__is_active=True, user__groups=F("group"))
    if isinstance(principal, KeyHolder):
        own_rows = rows_of_application(principal.application_id)
        turns = turns.filter(principal.in_groups(), own_rows)
        return turns if principal.acts_for_users else turns.filter(user=principal.owner_id)
    if principal.is_staff and not acting:
        return turns
    mine = Q(user=principal)
    if acts_for_others(principal):
        mine |= Q(actor=principal, credential=CredentialKind.SESSION)
    return turns.filter(mine)


def caller_of_turn(turn: Turn) -> Caller:
    """Return the caller of the turn."""
    return Caller(
        turn.user_id,
        turn.group_id,
        turn.space_id,
        tuple(turn.other_groups),
        turn.application_id,
    )


def start_turn(turn: Turn) -> Turn:
    """Mark the turn as executing; repeating it changes nothing. Raises TurnEnded."""
    transition(turn.pk, State.EXECUTING, at=timezone.now())
    turn.refresh_from_db()
    if turn.state in ENDED:
        raise TurnEnded(turn.state)
    return turn


def note_discovery(turn_id: UUID, caller: Caller, hits: int) -> None:
    """Count that a model searched for tools in a turn, and whether it found any.

    Other people's turns are ignored, like unknown ones.
    """
    if current_chain().acts_for_other(caller.user_id):
        return
    turns = Turn.objects.filter(
        caller.application_rows, pk=turn_id, user=caller.user_id, group__in=caller.group_ids
    )
    counted = {
        "discovery_calls": F("discovery_calls") + 1,
        "discovery_empty": F("discovery_empty") + (0 if hits else 1),
    }
    write_if_room(lambda: turns.update(**counted), otherwise=lambda: 0)


@dataclass(frozen=True, slots=True)
class TurnDescription:
    """A turn's state, without capabilities that its caller may no longer use."""

    turn: Turn
    lifecycle: tuple[TurnStep, ...]
    selected: tuple[dict[str, Any], ...]
    called: tuple[Called, ...]
    outcome: Outcome | None
    flow: dict[str, int]


def describe_turn(turn: Turn) -> TurnDescription:
    """Return what the turn's caller may see of it now."""
    outcome = getattr(turn, "outcome", None)
    calls = list(outcome.known_calls.select_related("capability")) if outcome else []
    called = {call.capability.identifier: call for call in calls if call.capability}
    # Those of the identifiers that the turn's caller may use now.
    identifiers = {identifier for identifier, _ in turn.selected} | called.keys()
    rows = Capability.objects.filter(identifier__in=identifiers)
    matching = Capability.objects.usable_by(caller_of_turn(turn), unavailable=True, among=rows)
    usable = set(matching.values_list("identifier", flat=True))
    return TurnDescription(
        turn=turn,
        lifecycle=tuple(list_steps(turn)),
        selected=tuple(
            {"id": identifier, "score": score}
            for identifier, score in turn.selected
            if identifier in usable
        ),
        called=tuple(call for identifier, call in called.items() if identifier in usable),
        outcome=outcome,
        flow=_count_verdicts(turn),
    )


def _count_verdicts(turn: Turn) -> dict[str, int]:
    """Count the turn's calls that the guard on flows judged, and what became of its questions."""
    asks = Q(flow__verdict="asks")
    return turn.calls.aggregate(
        judged=Count("pk", filter=Q(flow__has_key="verdict")),
        asked=Count("pk", filter=asks),
        approved=Count("pk", filter=asks & Q(decided_at__isnull=False) & ~Q(state="rejected")),
        refused=Count("pk", filter=asks & (Q(flow__mode="refuse") | Q(state="rejected"))),
    )
