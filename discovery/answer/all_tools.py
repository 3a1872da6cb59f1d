"""Queries of all tools that a caller may use, for the modes that show all of them."""

import json
from functools import cache
from itertools import starmap
from typing import Any

from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES
from catalog.readiness.facts import facts_parameters, facts_sql, readiness_from
from catalog.trust.reviewed_texts import ReviewedSchema, ReviewedText
from discovery.answer.formats.base import Tool


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
