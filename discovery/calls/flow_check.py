"""The guard on flows in a call: its rules and mode, what the turn has read, what the guard says."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, get_args
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q
from mcp_types import (
    Annotations,
    BlobResourceContents,
    ContentBlock,
    Icon,
    TextResourceContents,
)
from pydantic import BaseModel

from acl.audit.recorder import record
from acl.models import Space
from acl.platform.database_connections import rows_of
from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability
from catalog.trust.gate import texts_in
from catalog.trust.scanner import TooDeepError
from discovery.calls.state import UNKNOWN_OUTCOME
from discovery.flow_guard.flow_guard import GuardVerdict, judge
from discovery.flow_guard.tool_facts import ToolFacts
from discovery.flow_guard.turn_memory import MOST_READINGS, ForgottenError, TurnMemory
from discovery.flow_guard.turn_readings import TurnReadings
from discovery.flow_guard.user_words import UserWords
from discovery.models import Call, FlowMode, FlowRule, TrustedValue, Turn

_MOST_VALUES, _LONGEST_VALUE, _MOST_BLIND, _MOST_TRUSTED = 20, 200, 10, 1000
_BLOCKS: tuple[type[BaseModel], ...] = (
    *get_args(ContentBlock),
    *(TextResourceContents, BlobResourceContents, Annotations, Icon),
)
# Names of fields, and kinds of blocks: words of the protocol, and not of the server.
_OF_PROTOCOL = frozenset({"text", "image", "audio", "resource", "resource_link", "_meta"}) | {
    word
    for block in _BLOCKS
    for name, field in block.model_fields.items()
    for word in (name, field.alias)
}
Way = Call.Way
_FAILED = (Call.State.FAILED, Call.State.UNKNOWN)


def check_flow(call: Call, capability: Capability, arguments: JSONObject) -> None:
    """Judge a new call, and note the verdict on it.

    Nothing is noted where the guard is off, and for what Pegboard answers itself.
    """
    if settings.PEGBOARD_FLOW_GUARD == FlowMode.OFF or call.way not in (Way.SERVER, Way.CLIENT):
        return
    mode, trusted, sealed = _read_facts(call)
    if mode == FlowMode.OFF:
        return
    tool, memory = facts_of(capability), _open_memory(call, sealed, trusted)
    if memory is None:
        verdict = _without_words(tool, trusted, arguments)
    else:
        absorb_answers(memory, call.turn_id)
        verdict = judge(tool, arguments, memory.turn)
    if tool.acts or verdict.asks:
        call.flow = _noted(mode, verdict, memory.turn.blind if memory else ())


def must_ask(call: Call) -> bool:
    """Return True if a person must approve the call because of the guard."""
    return _asks(call, FlowMode.ASK)


def must_refuse(call: Call) -> bool:
    """Return True if the guard's mode refuses the call."""
    return _asks(call, FlowMode.REFUSE)


def _asks(call: Call, mode: FlowMode) -> bool:
    flow = call.flow or {}
    return flow.get("verdict") == "asks" and flow.get("mode") == mode


def explain(call: Call) -> str:
    """Return why the guard objects, and how the model may go on; "" if it does not."""
    flow = call.flow or {}
    return f"{flow['reason']} {flow['advice']}" if flow.get("verdict") == "asks" else ""


def facts_of(capability: Capability) -> ToolFacts:
    """Return what the guard knows of a capability: its assessed effect, not a server's word."""
    slug, trusted = capability.integration.slug, settings.PEGBOARD_FLOW_TRUSTED_SERVERS
    return ToolFacts(
        name=capability.action,
        effect=capability.side_effect,
        flags=frozenset(capability.effect_flags),
        schema=capability.input_schema,
        source=slug,
        trusted=slug in trusted or "*" in trusted,
    )


def absorb_answers(memory: TurnMemory, turn_id: UUID | None) -> None:
    """Digest the answers of the turn's calls that ended since, and name those nobody told."""
    answered = Q(way=Way.SERVER) & ~Q(result_json="") | Q(way=Way.CLIENT, state="completed")
    answered |= Q(way=Way.SERVER, content__gt=0)  # the group's policy has removed the answer
    # A server that fails a call says why, and a model reads that like any answer.
    answered |= Q(way=Way.SERVER, state__in=_FAILED, message__contains="\n")
    unread = Call.objects.filter(answered, turn=turn_id, reading__isnull=True)
    blind = []
    for call in unread.select_related("capability__integration").order_by("created_at", "pk")[
        :MOST_READINGS
    ]:
        if call.way == Way.CLIENT or call.content:
            blind.append(call.full_name)
            continue
        texts = [*texts_of(call.result or {}), *_words_of_failure(call)]
        add_answer(memory, _facts_of_call(call), call.arguments, texts, call=call)
    memory.turn.blind = tuple(dict.fromkeys(blind))[:_MOST_BLIND]


def add_answer(
    memory: TurnMemory,
    tool: ToolFacts,
    arguments: JSONObject,
    texts: list[str],
    *,
    call: Call | None = None,
) -> None:
    """Digest one answer and keep it. An id that it made decides only if the guard let it run."""
    by_itself = call is not None and not call.needs_approval and not explain(call)
    reading = memory.turn.add(tool, arguments, texts, by_itself=by_itself)
    memory.keep(reading, call_id=call.pk if call else None)


def texts_of(result: JSONObject) -> list[str]:
    """Return the structured answer as JSON, and every text of the blocks."""
    structured = result.get("structured")
    values = [value for value in (structured, result.get("error")) if value is not None]
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    # Nobody sees what is nested deeper.
    with suppress(TooDeepError):
        texts += [text for text in texts_in(result.get("content")) if text not in _OF_PROTOCOL]
    return texts


def _words_of_failure(call: Call) -> list[str]:
    """Return what the server said of a failure: it stands after Pegboard's own sentence."""
    if call.state not in _FAILED:
        return []
    words = call.message.removeprefix(f"{UNKNOWN_OUTCOME}\n").partition("\n")[2].strip()
    return [words] if words else []


def _facts_of_call(call: Call) -> ToolFacts:
    if call.capability is not None:
        return facts_of(call.capability)
    flags = frozenset({"returns_foreign_text", "reads_private_data"})  # it was removed since
    return ToolFacts(call.full_name, call.side_effect, flags)


def _read_facts(call: Call) -> tuple[str, list[str], bytes | None]:
    """Return the mode, the values that an admin trusts, and the turn's sealed words."""
    parameters = {
        "capability": call.capability_id,
        "space": call.space_id,
        "groups": [call.group_id, *call.other_groups],
        "turn": call.turn_id,
        "most": _MOST_TRUSTED,
    }
    [(mode, trusted, sealed)] = rows_of(_FACTS, parameters)
    return mode or settings.PEGBOARD_FLOW_GUARD, trusted, sealed and bytes(sealed)


# The most specific rule holds: a tool's, then the nearest space's, then a group's. Of several
# groups', the strictest.
_FACTS = """
WITH RECURSIVE up (id, parent_id, depth) AS (
  SELECT id, parent_id, 0 FROM acl_space WHERE id = %(space)s::bigint
  UNION ALL SELECT s.id, s.parent_id, up.depth + 1 FROM acl_space s JOIN up ON s.id = up.parent_id)
SELECT (SELECT r.mode FROM discovery_flowrule r LEFT JOIN up ON up.id = r.space_id
    WHERE (r.capability_id IS NULL OR r.capability_id = %(capability)s::bigint)
      AND (r.space_id IS NULL OR up.id IS NOT NULL)
      AND (r.group_id IS NULL OR r.group_id = ANY (%(groups)s::bigint[]))
    ORDER BY r.capability_id IS NULL, up.depth NULLS LAST, r.group_id IS NULL,
      array_position(ARRAY['refuse', 'ask', 'advise', 'off'], r.mode::text) LIMIT 1),
  ARRAY(SELECT value FROM discovery_trustedvalue ORDER BY id LIMIT %(most)s::int),
  (SELECT sealed_words FROM discovery_turn WHERE id = %(turn)s::uuid)
"""


def _open_memory(call: Call, sealed: bytes | None, trusted: list[str]) -> TurnMemory | None:
    if call.turn_id is None or not sealed:
        return None
    try:
        return TurnMemory(call.turn_id, sealed, trusted)
    except ForgottenError:
        return None


_NO_TURN = (
    "The guard does not know the message of this call: it names no turn of the user's, or one that "
    "has ended."
)


def _without_words(tool: ToolFacts, trusted: list[str], arguments: JSONObject) -> GuardVerdict:
    """Judge a call of an unknown message: only values that an admin trusts may decide."""
    verdict = judge(tool, arguments, TurnReadings(UserWords([], trusted), blind=("",)))
    if not verdict.asks:
        return verdict
    advice = (
        "Only the application can name it: by turn_id, or over MCP by pegboard/turn_id in _meta. "
        "Tell the user so."
    )
    return GuardVerdict(
        asks=True, cause="no_message", reason=_NO_TURN, advice=advice, origins=verdict.origins
    )


def _noted(mode: str, verdict: GuardVerdict, blind: tuple[str, ...]) -> dict[str, Any]:
    """Return the verdict as it is stored and answered."""
    noted: dict[str, Any] = {"mode": mode, "verdict": "asks" if verdict.asks else "runs"}
    if verdict.asks:
        noted |= {"cause": verdict.cause, "reason": verdict.reason, "advice": verdict.advice}
    if verdict.origins:
        noted["values"] = [
            {name: str(part)[:_LONGEST_VALUE] for name, part in asdict(origin).items() if part}
            for origin in verdict.origins[:_MOST_VALUES]
        ]
    if blind:
        noted["blind"] = list(blind)
    return noted


# Of a tool that the user may not use, or that does not exist: the two look alike.
_UNKNOWN = frozenset({"returns_foreign_text", "reads_private_data"})


# Results that an application tells, of calls that it carried out itself in one of its turns.
class TurnForgottenError(Exception):
    """The turn keeps nothing: it has ended, the guard was off, or its key is gone."""

    def __init__(self) -> None:
        super().__init__(
            "This turn keeps no results: it has ended, or the guard on flows was off when it began."
        )


@dataclass(frozen=True, slots=True)
class ToldResult:
    """Result of a call; without `call_id`, of the oldest call of the name."""

    name: str
    arguments: Mapping[str, Any]
    result: Any
    call_id: UUID | None = None


@transaction.atomic
def tell_results(*, turn: Turn, caller: Caller, results: Sequence[ToldResult]) -> int:
    """Digest results into the turn's memory; return their number. Raises TurnForgottenError."""
    locked = Turn.objects.select_for_update(of=("self",)).get(pk=turn.pk)
    try:
        memory = TurnMemory(locked.pk, bytes(locked.sealed_words or b""))
    except ForgottenError:
        raise TurnForgottenError from None
    tools = _find_tools(caller, {result.name for result in results})
    for result in results:
        # The call that the application was to carry out, unless its result was told before.
        mine = Call.objects.filter(turn=turn, way=Call.Way.CLIENT, reading__isnull=True)
        matching = (
            mine.filter(pk=result.call_id) if result.call_id else mine.filter(full_name=result.name)
        )
        call = matching.order_by("created_at", "pk").first()
        tool = tools.get(result.name, ToolFacts(result.name, "unknown", _UNKNOWN))
        add_answer(memory, tool, dict(result.arguments), _texts(result.result), call=call)
    return len(results)


def _find_tools(caller: Caller, names: set[str]) -> dict[str, ToolFacts]:
    tools = Capability.objects.filter(full_name__in=names)
    usable = Capability.objects.usable_by(caller, unavailable=True, among=tools)
    capabilities = usable.select_related("integration")
    return {capability.full_name: facts_of(capability) for capability in capabilities}


def _texts(result: Any) -> list[str]:
    if isinstance(result, str):
        return [result]
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        blocks = [block for block in result["content"] if isinstance(block, dict)]
        return texts_of({**result, "content": blocks})
    return [write_json(result, ensure_ascii=False)]


@transaction.atomic
def set_flow_rule(
    *,
    by: User | None,
    mode: str,
    capability: Capability | None = None,
    space: Space | None = None,
    group: Group | None = None,
) -> bool:
    """Set the mode for a tool, a space or a group, or a combination; False if it was set."""
    rule, is_new = FlowRule.objects.select_for_update().get_or_create(
        capability=capability, space=space, group=group, defaults={"mode": mode}
    )
    if not is_new and rule.mode == mode:
        return False
    if not is_new:
        rule.mode = mode
        rule.save(update_fields=["mode"])
    record(by=by, action=f"flowrule.{'add' if is_new else 'change'}", target=str(rule))
    return True


@transaction.atomic
def remove_flow_rule(*, by: User | None, rule: FlowRule) -> None:
    """Remove a rule; wider ones and the setting decide again."""
    record(by=by, action="flowrule.delete", target=str(rule))
    rule.delete()


@transaction.atomic
def trust_value(*, by: User | None, value: str, note: str) -> bool:
    """Trust a value, or change its note; return False if nothing changes."""
    row, is_new = TrustedValue.objects.select_for_update().get_or_create(
        value=value, defaults={"note": note, "created_by": by}
    )
    if not is_new and row.note == note:
        return False
    if not is_new:
        row.note = note
        row.save(update_fields=["note"])
    action = f"trustedvalue.{'add' if is_new else 'change'}"
    record(by=by, action=action, target=value, details={"note": note})
    return True


@transaction.atomic
def distrust_value(*, by: User | None, value: str) -> None:
    """Trust a value no longer."""
    if TrustedValue.objects.filter(value=value).delete()[0]:
        record(by=by, action="trustedvalue.delete", target=value)
