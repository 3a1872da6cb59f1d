"""What the tiers read beside the selection: the caller's categories, and the foremost in full.

Tier 0 is kept by what it depends on: the catalogue's version, and a digest of what the caller may
use as the database has it at this moment. Who has the same rights shares it; whoever gains or loses
one has another key in the same statement.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from acl.platform.prepared_statements import rows_of
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.access.usable_ids import VERSION_SQL
from catalog.lookups.listing_cache import listing_cache
from catalog.querysets import TABLES
from discovery.answer.tiers.category_tier import Category, categories_of

KEPT = 1_000
# Two hashes of each id and how it may be used: sets that differ have other sums. The integrations
# that are not connected are left out of the summary, and the catalogue's version knows nothing of
# them.
_KEY = f"""
  COALESCE(({VERSION_SQL}), ''),
  (SELECT concat_ws('/', count(*), sum(hashint8extended(id * 4 + mode, 1)),
                    sum(hashint8extended(id * 4 + mode, 2))) FROM usable),
  (SELECT concat_ws('/', count(*), sum(hashint8extended(id, 1)))
   FROM catalog_integration WHERE connection = 'disconnected')"""  # noqa: S608 - our own tables


@cache
def _state(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
keyed AS MATERIALIZED (SELECT {_KEY})
SELECT keyed.*, c.id, c.required_tools, c.required_secrets, c.examples::text,
       CASE WHEN c.id = ANY (%(full)s::bigint[]) THEN c.content ELSE '' END
FROM keyed LEFT JOIN catalog_capability c
  ON c.id = ANY (%(shown)s::bigint[]) AND c.id IN (SELECT id FROM usable)
"""  # noqa: S608 - the names of our own tables


@cache
def _ids(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT {_KEY}, ARRAY(SELECT id FROM usable),
       ARRAY(SELECT slug FROM catalog_integration WHERE connection = 'disconnected')
"""  # noqa: S608 - the names of our own tables


Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the catalogue holds of a capability that a selection does not carry."""

    required_tools: tuple[str, ...] = ()
    required_secrets: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    content: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The key of tier 0, and the facts by primary key of what the caller still may use."""

    key: Key
    facts: dict[int, Facts]


def read_state(caller: Caller, *, shown: Sequence[int], full: Sequence[int]) -> State:
    """In one statement; contents only of those that are told in full."""
    rows = _rows(
        _state(united=caller.is_united), caller, {"shown": list(shown), "full": list(full)}
    )
    facts = {
        pk: Facts(tuple(tools), tuple(secrets), _texts(examples), content)
        for _, _, _, pk, tools, secrets, examples, content in rows
        if pk is not None
    }
    return State(rows[0][:3], facts)


def categories_at(key: Key, caller: Caller) -> tuple[Category, ...]:
    """The caller's categories, read only where nobody with the same rights has asked since the last
    change."""
    return _kept.get(key, lambda: read_categories(caller))


def read_categories(caller: Caller) -> tuple[Key, tuple[Category, ...]]:
    """With the key of the very rows that were read: rights may have changed since it was asked."""
    [(version, usable, off, ids, disconnected)] = _rows(_ids(united=caller.is_united), caller, {})
    listing = listing_cache.at(version).entries
    entries = (listing[pk] for pk in ids if pk in listing)
    connected = (entry for entry in entries if entry.integration not in disconnected)
    return (version, usable, off), categories_of(connected)


@dataclass
class _Kept:
    """The categories that were asked for last, in this process."""

    values: OrderedDict[Key, tuple[Category, ...]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(
        self, key: Key, read: Callable[[], tuple[Key, tuple[Category, ...]]]
    ) -> tuple[Category, ...]:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
                return self.values[key]
        own, categories = read()
        with self.lock:
            self.values[own] = categories
            while len(self.values) > KEPT:
                self.values.popitem(last=False)
        return categories


_kept = _Kept()


def _texts(examples: str) -> tuple[str, ...]:
    found = json.loads(examples)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _rows(statement: str, caller: Caller, more: dict[str, Any]) -> list[Any]:
    return rows_of(statement, {**rights_parameters(caller), **more})
