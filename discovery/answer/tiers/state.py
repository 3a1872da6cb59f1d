"""Data of the tiers beside the selection: the caller's categories, and facts of the best matches.

Tier 0 is cached by what it depends on: the versions of the catalogue and of the caller's rights,
and which integrations are disconnected. A change changes the key within the same statement.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from cachetools import LRUCache

from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from acl.rights.version import version_sql
from catalog.access.usable_ids import VERSION_SQL
from catalog.capabilities.listing_cache import listing_cache
from catalog.querysets import TABLES
from discovery.answer.tiers.categories import Category, group_by_category

CACHE_SIZE = 1_000
# Disconnected integrations are omitted from the summary, and no version covers connections.
_KEY = f"""
  COALESCE(({VERSION_SQL}), ''), {version_sql(TABLES.ended)},
  (SELECT concat_ws('/', count(*), sum(hashint8extended(id, 1)))
   FROM catalog_integration WHERE connection = 'disconnected')"""  # noqa: S608 - our own tables


# Required tools by the names that a model calls, only those that the caller may use. Other names
# are left out, too: a difference would tell hidden tools from unknown ones.
_REQUIRED = """ARRAY(
         SELECT r.full_name FROM unnest(c.required_tools) WITH ORDINALITY AS named (name, place)
         JOIN catalog_capability r ON r.full_name = named.name OR r.identifier = named.name
           OR (named.name !~ '__|:' AND r.full_name = i.slug || '__' || named.name)
         WHERE r.id IN (SELECT id FROM usable) ORDER BY named.place)"""


# The shown ones, and those that they name as required.
_ASKED = """asked (id) AS MATERIALIZED (
  SELECT unnest(%(shown)s::bigint[])
  UNION SELECT r.id FROM catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
  CROSS JOIN LATERAL unnest(c.required_tools) named (name)
  JOIN catalog_capability r ON r.full_name = named.name OR r.identifier = named.name
    OR (named.name !~ '__|:' AND r.full_name = i.slug || '__' || named.name)
  WHERE c.id = ANY (%(shown)s::bigint[])
)"""


@cache
def _state_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {_ASKED},
{rights_sql(TABLES, united=united, among=True)},
keyed AS MATERIALIZED (SELECT {_KEY})
SELECT keyed.*, c.id, {_REQUIRED}, c.required_secrets, c.examples::text,
       CASE WHEN c.id = ANY (%(full)s::bigint[]) THEN c.content ELSE '' END
FROM keyed LEFT JOIN catalog_capability c
  ON c.id = ANY (%(shown)s::bigint[]) AND c.id IN (SELECT id FROM usable)
LEFT JOIN catalog_integration i ON i.id = c.integration_id
"""  # noqa: S608 - the names of our own tables


@cache
def _ids_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT {_KEY}, ARRAY(SELECT id FROM usable),
       ARRAY(SELECT slug FROM catalog_integration WHERE connection = 'disconnected')
"""  # noqa: S608 - the names of our own tables


Key = tuple[str, str, str]
_categories: LRUCache[tuple[Caller, Key], tuple[Category, ...]] = LRUCache(CACHE_SIZE)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """Facts about a capability that a selection does not contain."""

    required_tools: tuple[str, ...] = ()  # full names of usable ones
    required_secrets: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    content: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The key of tier 0, and facts by primary key of what the caller may still use."""

    key: Key
    facts: dict[int, StoredFacts]


def read_state(caller: Caller, *, keys: Sequence[int], full: Sequence[int]) -> State:
    """Read the state in one statement; contents only of those in `full`."""
    rows = _query(
        _state_sql(united=caller.is_united), caller, {"shown": list(keys), "full": list(full)}
    )
    facts = {
        pk: StoredFacts(tuple(tools), tuple(secrets), _texts(examples), content)
        for _, _, _, pk, tools, secrets, examples, content in rows
        if pk is not None
    }
    return State(rows[0][:3], facts)


def categories_at(key: Key, caller: Caller) -> tuple[Category, ...]:
    """Return the caller's categories, cached by rights and catalogue version."""
    with _lock:
        categories = _categories.get((caller, key))
    if categories is None:
        key, categories = read_categories(caller)
        if key[0]:  # a scratch catalogue counts no changes
            with _lock:
                _categories[caller, key] = categories
    return categories


def read_categories(caller: Caller) -> tuple[Key, tuple[Category, ...]]:
    """Read the categories, with the key of the same snapshot: rights may have changed since."""
    [(version, usable, off, ids, disconnected)] = _query(
        _ids_sql(united=caller.is_united), caller, {}
    )
    listing = listing_cache.at(version).entries
    entries = (listing[pk] for pk in ids if pk in listing)
    connected = (entry for entry in entries if entry.integration not in disconnected)
    return (version, usable, off), group_by_category(connected)


def _texts(examples: str) -> tuple[str, ...]:
    values = json.loads(examples)
    return tuple(map(str, values)) if isinstance(values, list) else ()


def _query(statement: str, caller: Caller, more: dict[str, Any]) -> list[Any]:
    return rows_of(statement, {**rights_parameters(caller), **more})
