"""Data of the tiers beside the selection: the caller's categories, and facts of the best matches.

Tier 0 is cached by what it depends on: the versions of the catalogue and of the caller's rights,
and which integrations are disconnected. A change changes the key within the same statement.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, groupby, zip_longest
from operator import attrgetter
from threading import Lock
from typing import Any, Self

from cachetools import LRUCache
from django.conf import settings

from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from acl.rights.version import version_sql
from catalog.access.usable_ids import VERSION_SQL
from catalog.capabilities.listing_cache import ListingEntry, listing_cache
from catalog.querysets import TABLES
from discovery.answer.prompt import fits, largest
from discovery.metatools import META_TOOLS

# Tier 0: the categories in which a caller has capabilities, with counts and some names.

MOST_NAMES = 4
FIRST = "Categories of what you can use:"
LAST = f"Use {META_TOOLS['discover_capabilities'].name} to find more in any of them."


@dataclass(frozen=True, slots=True)
class Category:
    """A category with the number of its capabilities and the names of the first ones."""

    category: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The tier's text, and the number of categories that did not fit."""

    text: str
    left_out: int


def group_by_category(entries: Iterable[ListingEntry]) -> tuple[Category, ...]:
    """Group capabilities by category, largest first."""
    by_category = attrgetter("category")
    # Names alternate between integrations, which says more than many names of one integration.
    grouped = groupby(sorted(entries, key=attrgetter("category", "full_name")), by_category)
    categories = [_category(name, list(group)) for name, group in grouped]
    return tuple(sorted(categories, key=lambda category: (-category.count, category.category)))


def write_summary(categories: Sequence[Category], budget: int) -> Summary:
    """Write as many categories as fit, first without names, and a line on how to find more."""
    if not categories:
        return Summary("", 0)
    whole = len(categories)
    count = largest(whole, lambda number: fits(_text(categories[:number], 0, whole), budget))
    if count is None:
        return Summary(LAST if fits(LAST, budget) else "", whole)
    rounds = MOST_NAMES * count if count == whole else 0
    names = largest(rounds, lambda number: fits(_text(categories[:count], number, whole), budget))
    return Summary(_text(categories[:count], names or 0, whole), whole - count)


def _text(categories: Sequence[Category], names: int, whole: int) -> str:
    """Write the text with `names` names in all, dealt to the categories in turn."""
    rounds, further = divmod(names, len(categories)) if categories else (0, 0)
    lines = [
        _line(category, rounds + (place < further)) for place, category in enumerate(categories)
    ]
    if remaining := whole - len(categories):
        lines.append(f"- {remaining} more {'category' if remaining == 1 else 'categories'}")
    return "\n".join([FIRST, *lines, LAST])


def _line(category: Category, most: int) -> str:
    title, names = " ".join(category.category.split()), category.names[:most]
    if not names:
        return f"- {title} ({category.count})"
    remaining = category.count - len(names)
    more = f" (+{remaining} more)" if remaining else ""
    return f"- {title}: {', '.join(names)}{more} ({category.count})"


def _category(name: str, entries: Sequence[ListingEntry]) -> Category:
    slug = attrgetter("integration")
    groups = [list(group) for _, group in groupby(sorted(entries, key=slug), slug)]
    alternating = chain.from_iterable(zip_longest(*(group[:MOST_NAMES] for group in groups)))
    names = [entry.full_name for entry in alternating if entry is not None]
    return Category(name, len(entries), tuple(names[:MOST_NAMES]))


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


# Options: the deployment's settings, which a request may change.


@dataclass(frozen=True, slots=True)
class TierOptions:
    """Budgets in tokens, and numbers of capabilities."""

    tier0_tokens: int
    tier1_tokens: int
    tier2_tokens: int
    tier1_top: int
    tier2_top: int
    relevance: float

    @classmethod
    def of_the_deployment(cls) -> Self:
        """Return the deployment's settings."""
        return cls(
            tier0_tokens=settings.PEGBOARD_TIER0_TOKENS,
            tier1_tokens=settings.PEGBOARD_TIER1_TOKENS,
            tier2_tokens=settings.PEGBOARD_TIER2_TOKENS,
            tier1_top=settings.PEGBOARD_TIER1_TOP,
            tier2_top=settings.PEGBOARD_TIER2_TOP,
            relevance=settings.PEGBOARD_TIER1_RELEVANCE,
        )

    @property
    def tokens(self) -> int:
        """Return the budget of all tiers."""
        return self.tier0_tokens + self.tier1_tokens + self.tier2_tokens

    def within(self, context_window: int | None) -> Self:
        """Return options whose budgets are scaled down to the share of a small window."""
        share = int((context_window or 0) * settings.PEGBOARD_CONTEXT_SHARE)
        if not context_window or self.tokens <= share:
            return self
        return replace(
            self,
            tier0_tokens=self.tier0_tokens * share // self.tokens,
            tier1_tokens=self.tier1_tokens * share // self.tokens,
            tier2_tokens=self.tier2_tokens * share // self.tokens,
        )
