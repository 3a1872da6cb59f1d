"""Figures of applications and of conversations: turns, calls, failures, tokens and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from acl.models import Application
from acl.models.application import stored_conversation
from acl.platform.answer_model import Answer, Shown
from discovery.models import Call, Turn
from discovery.prices.model import Price

DAYS = 30
MOST_CONVERSATIONS = 50
MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class ApplicationUse(Answer):
    """Turns and calls of an application, with the tokens that they sent to models."""

    turns: int = 0
    conversations: Annotated[int, Shown("Conversations that requests named.")] = 0
    people: int = 0
    calls: int = 0
    failed: Annotated[int, Shown("Calls that failed or whose outcome is unknown.")] = 0
    waiting: Annotated[int, Shown("Calls that wait for approval.")] = 0
    definition_tokens: Annotated[int, Shown("Tokens of definitions sent in those turns.")] = 0
    all_definition_tokens: Annotated[int, Shown("The same with the definitions of all tools.")] = 0
    argument_tokens: Annotated[int, Shown("Estimated at four characters each.")] = 0
    result_tokens: Annotated[int, Shown("Estimated at four characters each.")] = 0
    success: Annotated[int, Shown("Turns that ended well.")] = 0
    outcomes: Annotated[int, Shown("Turns whose outcome is known.")] = 0

    @property
    def tokens(self) -> Annotated[int, Shown("All of them that were sent.")]:
        """Return the tokens of definitions, arguments and results."""
        return self.definition_tokens + self.argument_tokens + self.result_tokens

    def cost(self, price: Price | None) -> Decimal | None:
        """Return what it cost at a price, in US dollars; None without a price."""
        if price is None:
            return None
        tokens_read = self.definition_tokens + self.result_tokens
        return price.cost(tokens_read=tokens_read, tokens_written=self.argument_tokens)


@dataclass(frozen=True, slots=True)
class ConversationUse(Answer):
    """A conversation: its turns and calls, and their tokens."""

    conversation: Annotated[str, Shown("As it is stored: the name, or its hash.")]
    turns: int
    calls: int
    failed: int
    definition_tokens: int
    call_tokens: Annotated[int, Shown("Of arguments and results, estimated.")]
    began_at: datetime
    last_at: datetime

    @property
    def tokens(self) -> Annotated[int, Shown("All of them that were sent.")]:
        """Return the tokens of definitions, arguments and results."""
        return self.definition_tokens + self.call_tokens


@dataclass(frozen=True, slots=True)
class ConversationStep(Answer):
    """A turn or a call of a conversation, without its contents."""

    kind: Annotated[str, Shown(choices=("turn", "call"))]
    id: str
    user: str
    at: datetime
    state: str
    tool: Annotated[str, Shown("The full name of a call's tool; empty for a turn.")]
    tokens: int


def use_of_applications(
    applications: Sequence[Application], *, days: int = DAYS
) -> dict[int, ApplicationUse]:
    """Return the use of the last days by application id, in one statement."""
    keys = [application.pk for application in applications]
    since = timezone.now() - timedelta(days=days)
    with connection.cursor() as cursor:
        cursor.execute(_USE, {"keys": keys, "since": since})
        return {key: ApplicationUse(*map(int, numbers)) for key, *numbers in cursor.fetchall()}


_USE = """
SELECT a.id, t.turns, t.conversations, t.people, c.calls, c.failed, c.waiting,
       t.definitions, t.all_definitions, c.arguments, c.results, o.success, o.outcomes
FROM acl_application a
CROSS JOIN LATERAL (
  SELECT count(*) AS turns, count(DISTINCT NULLIF(conversation, '')) AS conversations,
    count(DISTINCT user_id) AS people,
    COALESCE(sum(CASE mode WHEN 'all' THEN tokens_all ELSE tokens_selected END), 0) AS definitions,
    COALESCE(sum(tokens_all), 0) AS all_definitions
  FROM discovery_turn WHERE application_id = a.id AND created_at >= %(since)s) t
CROSS JOIN LATERAL (
  SELECT count(*) AS calls, count(*) FILTER (WHERE state IN ('failed', 'unknown')) AS failed,
    count(*) FILTER (WHERE state = 'waiting_approval') AS waiting,
    COALESCE(sum(tokens_arguments), 0) AS arguments, COALESCE(sum(tokens_result), 0) AS results
  FROM discovery_call WHERE application_id = a.id AND created_at >= %(since)s) c
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'success') AS success, count(*) AS outcomes
  FROM discovery_outcome WHERE application_id = a.id AND at >= %(since)s) o
WHERE a.id = ANY (%(keys)s)
"""


def list_conversations(application: Application, *, days: int = DAYS) -> list[ConversationUse]:
    """Return the conversations of the last days that sent the most tokens."""
    since = timezone.now() - timedelta(days=days)
    return _conversations(application, since=since, name=None, most=MOST_CONVERSATIONS)


def find_conversation(application: Application, name: str) -> ConversationUse | None:
    """Return a conversation by its name as the application sends it, or as it is stored."""
    for stored in dict.fromkeys([name, stored_conversation(name)]):
        if conversations := _conversations(application, since=None, name=stored, most=1):
            return conversations[0]
    return None


def _conversations(
    application: Application, *, since: datetime | None, name: str | None, most: int
) -> list[ConversationUse]:
    parameters = {"key": application.pk, "since": since, "name": name, "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_CONVERSATIONS, parameters)
        return [ConversationUse(*row) for row in cursor.fetchall()]


_CONVERSATIONS = """
SELECT conversation, sum(turns)::bigint, sum(calls)::bigint, sum(failed)::bigint,
       sum(definitions)::bigint, sum(tokens)::bigint, min(began), max(last)
FROM (
  SELECT conversation, count(*) AS turns, 0 AS calls, 0 AS failed,
    sum(CASE mode WHEN 'all' THEN tokens_all ELSE tokens_selected END) AS definitions,
    0 AS tokens, min(created_at) AS began, max(created_at) AS last
  FROM discovery_turn
  WHERE application_id = %(key)s AND conversation <> ''
    AND (%(name)s::text IS NULL OR conversation = %(name)s)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s) GROUP BY 1
  UNION ALL
  SELECT conversation, 0, count(*), count(*) FILTER (WHERE state IN ('failed', 'unknown')), 0,
    sum(tokens_arguments + tokens_result), min(created_at), max(created_at)
  FROM discovery_call
  WHERE application_id = %(key)s AND conversation <> ''
    AND (%(name)s::text IS NULL OR conversation = %(name)s)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s) GROUP BY 1
) part GROUP BY 1 ORDER BY sum(definitions + tokens) DESC, 1 LIMIT %(most)s
"""


def list_steps(application: Application, conversation: str) -> list[ConversationStep]:
    """Return the turns and calls of a conversation, oldest first. Contents belong to its people."""
    rows = Q(application=application, conversation=conversation)
    turns = Turn.objects.filter(rows).select_related("user").defer("message", "plan", "selected")
    calls = Call.objects.filter(rows).select_related("user").defer("arguments_json", "result_json")
    steps = [
        ConversationStep(
            "turn", str(turn.pk), turn.user.get_username(), turn.created_at, turn.state, "",
            turn.tokens_all if turn.mode == Turn.Mode.ALL else turn.tokens_selected,
        )
        for turn in turns.order_by("created_at")[:MOST_STEPS]
    ]  # fmt: skip
    steps += [
        ConversationStep(
            "call", str(call.pk), call.user.get_username(), call.created_at, call.state,
            call.full_name, call.tokens_arguments + call.tokens_result,
        )
        for call in calls.order_by("created_at")[:MOST_STEPS]
    ]  # fmt: skip
    return sorted(steps, key=lambda step: (step.at, step.kind))
