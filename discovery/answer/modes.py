"""Modes: what goes before the model, be it all definitions, their names, or tools to search."""

import json
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from typing import Annotated, Any, Literal, get_args

from django.conf import settings

from acl.platform.answer_model import Answer, Shown
from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES
from catalog.readiness.readiness import facts_parameters, facts_sql, readiness_from
from catalog.trust.findings import ReviewedSchema, ReviewedText
from discovery.answer.formats.base import Tool

# Queries of all tools that a caller may use, for the modes that show all of them.


@cache
def _measure_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT count(*), COALESCE(sum(tokens), 0) FROM usable
"""  # noqa: S608 - the names of our own tables


@cache
def _read_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT c.full_name, c.display_name, c.description, c.side_effect,
       CASE WHEN %(schemas)s::bool THEN c.input_schema::text END,
       {facts_sql(mode="usable.mode")}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id
ORDER BY c.full_name COLLATE "C", c.id
"""  # noqa: S608 - the names of our own tables


def measure(caller: Caller, *, kind: str = "", only_here: bool = False) -> tuple[int, int]:
    """Return the number of usable capabilities and the tokens of their definitions."""
    rights = _rights(caller, kind, only_here=only_here)
    [(count, tokens)] = rows_of(_measure_sql(united=caller.is_united), rights)
    return count, int(tokens)


def read(
    caller: Caller, *, kind: str = "", only_here: bool = False, schemas: bool = True
) -> list[Tool]:
    """Return all usable tools by full name, with or without their schemas."""
    rights = _rights(caller, kind, only_here=only_here)
    rows = rows_of(_read_sql(united=caller.is_united), rights | {"schemas": schemas})
    return list(starmap(_tool, rows))


def _tool(
    name: str, title: str, description: str, side_effect: str, schema: str | None, *facts: Any
) -> Tool:
    readiness = readiness_from(facts)
    return Tool(
        name=name,
        title=ReviewedText(title),
        description=ReviewedText(description),
        input_schema=ReviewedSchema(json.loads(schema)) if schema else None,
        side_effect=side_effect,
        asks_first=readiness.asks_first,
        failing=readiness.is_failing,
        mark=readiness.mark,
    )


def _rights(caller: Caller, kind: str, *, only_here: bool) -> dict[str, Any]:
    kind = "" if kind in {"any", "all"} else kind
    rights = rights_parameters(caller, kind=kind, connected=True, only_here=only_here)
    return {**rights, **facts_parameters()}


Mode = Literal["selected", "direct", "compact_direct", "discovery"]
MODES: tuple[Mode, ...] = get_args(Mode)
AUTO = "auto"
WANTED_MODES = (*MODES, AUTO)
# Limits of one answer, which apply to a forced mode, too.
MOST_DIRECT, MOST_COMPACT = 2_000, 10_000


@dataclass(frozen=True, slots=True)
class ModeChoice(Answer):
    """A mode, the reason for it in words, and the budget: its share of the window in tokens."""

    component = "Mode"

    mode: Mode
    reason: str
    # The share of the window.
    budget: Annotated[int, Shown("In tokens; 0 where none was asked for.")]


def choose_mode(
    *,
    full_tokens: int,
    count: int,
    context_window: int | None,
    forced: str | None,
    most_tools: int = MOST_DIRECT,
) -> ModeChoice:
    """Choose the first of direct, compact_direct and discovery that fits the budget.

    `full_tokens` and `count` are those of all definitions. `forced` is a mode; with None or `auto`
    the window decides, by default PEGBOARD_CONTEXT_WINDOW. `most_tools` is the provider's limit.
    """
    window = context_window or settings.PEGBOARD_CONTEXT_WINDOW
    budget = int(window * settings.PEGBOARD_CONTEXT_SHARE)
    if forced and forced != AUTO:
        return _forced(forced, count, most_tools, budget)
    share = f"{settings.PEGBOARD_CONTEXT_SHARE:.0%} of {window:,} tokens"
    if count <= most_tools and full_tokens <= budget:
        fits = f"All {count:,} definitions cost {full_tokens:,} tokens and fit {budget:,}, {share}."
        return ModeChoice("direct", fits, budget)
    reason = (
        f"All {count:,} definitions cost {full_tokens:,} tokens, more than {budget:,}, {share}"
        if full_tokens > budget
        else f"{count:,} definitions are more than the {most_tools:,} that are taken at once"
    )
    lines = count * settings.PEGBOARD_COMPACT_TOKENS
    if count <= MOST_COMPACT and lines <= budget:
        return ModeChoice("compact_direct", f"{reason}; a line each costs {lines:,}.", budget)
    return ModeChoice("discovery", f"{reason}; so would a line each, {lines:,}.", budget)


def _forced(mode: str, count: int, most_tools: int, budget: int) -> ModeChoice:
    """Return the requested mode, or a smaller one if it exceeds what fits one answer."""
    if mode not in MODES:
        raise ValueError(f"{mode} is not a mode")
    most = {"direct": most_tools, "compact_direct": MOST_COMPACT}.get(mode, count)
    if count <= most:
        return ModeChoice(mode, f"The request asks for {mode}.", budget)
    return ModeChoice(
        "discovery" if count > MOST_COMPACT else "compact_direct",
        f"The request asks for {mode}, and {count:,} are more than {most:,}, the most at once.",
        budget,
    )


def step_down(choice: ModeChoice, cost: int) -> ModeChoice:
    """Return the next smaller mode, for when the rendered tools cost more than estimated."""
    lower: Mode = "compact_direct" if choice.mode == "direct" else "discovery"
    reason = f"As it is written, {choice.mode} costs {cost:,} tokens, more than {choice.budget:,}."
    return ModeChoice(lower, reason, choice.budget)
