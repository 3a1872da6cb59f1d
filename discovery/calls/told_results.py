"""Results that an application tells: of calls that it carried out itself, in one of its turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.calls._flow_check import add_answer, facts_of, texts_of
from discovery.flow_guard.tool_facts import ToolFacts
from discovery.flow_guard.turn_memory import ForgottenError, TurnMemory
from discovery.models import Call, Turn

# Of a tool that the user may not use, or that does not exist: the two look alike.
_UNKNOWN = frozenset({"returns_foreign_text", "reads_private_data"})


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
