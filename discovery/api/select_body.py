"""Turns a selection into the body that a chat backend gets."""

import time
from dataclasses import asdict
from typing import Any

from catalog.lookups.detail_levels import Detail, description_at, schema_at, with_tokens
from discovery.answer.formats.provider_formats import renamed
from discovery.answer.injection import Injection, inject_selected
from discovery.select.selection import Selected, Selection


def answer(
    selection: Selection,
    *,
    provider: str,
    detail: Detail,
    explain: bool,
    injection: Injection | None = None,
    started: float | None = None,
) -> dict[str, Any]:
    """The whole answer. What goes to the model is what was selected, unless it is something else.

    The time that writing took is part of the timings, since `started` where that began before.
    """
    started = started or time.perf_counter()
    injected = injection or inject_selected(selection, provider=provider)
    body = {
        "selected": [_selected(item, detail, explain) for item in selection.selected],
        "core_included": selection.core_included,
        "excluded_count": selection.excluded_count,
        "reason": selection.reason,
        "discovery_suggested": selection.discovery_suggested,
        "direct": selection.direct,
        "degraded": bool(selection.degraded),
        "degraded_because": selection.degraded,
        "turn_id": selection.turn_id,
        "tokens": _tokens(selection, injected),
        "prompt": injected.prompt,
        "tools": injected.written,
        "renamed": renamed(injected.tools, provider),
    }
    return body | {"timings": _timings(selection, (time.perf_counter() - started) * 1000)}


def _selected(item: Selected, detail: Detail, explain: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": item.identifier,
        "full_name": item.full_name,
        "kind": item.kind,
        "integration": item.integration,
        "display_name": item.display_name,
        "score": item.score,
        "reasons": item.reasons,
        "access": "asks first" if item.asks_first else "runs",
        "available": item.available,
        "core": item.core,
        "pinned": item.pinned,
    }
    if detail != "name_only":
        body |= {
            "description": description_at(detail, item.description),
            "category": item.category,
            "side_effect": item.side_effect,
            "alternatives": item.alternatives,
        }
    body |= schema_at(detail, item.input_schema)
    if explain:
        body["evidence"] = item.evidence
    return with_tokens(body)


def mode_of(injection: Injection) -> dict[str, Any]:
    """Why so much is put before the model; and what answers a search, where definitions wait."""
    waiting = {"search_result": injection.search_result} if injection.search_result else {}
    return {"mode": asdict(injection.choice), **waiting}


def _tokens(selection: Selection, injected: Injection) -> dict[str, int]:
    """Where everything is shown, that is what is saved by; else what the selected ones cost."""
    is_selection = injected.choice.mode == "selected"
    after = selection.tokens_selected if is_selection else injected.tokens
    return {
        "all": selection.tokens_all,
        "selected": after,
        "saved": max(0, selection.tokens_all - after),
        "injected": injected.tokens,
    }


def _timings(selection: Selection, rendering: float) -> dict[str, float]:
    timings = dict(selection.timings)
    for part in ("rendering", "total"):
        timings[part] = timings.get(part, 0.0) + rendering
    return {part: round(milliseconds, 3) for part, milliseconds in timings.items()}
