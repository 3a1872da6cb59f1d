"""What a page of the marketplace reads of its listings: how many there are, and those on its cards.

By hand, since writing these statements would cost the ORM more than running them costs Postgres.
What the viewer may see is a part of each.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection

from marketplace.models import Listing
from marketplace.viewing import OFFERED, PASSED


class Pile(NamedTuple):
    """So many listings that are alike in what they are filtered by."""

    kind: str
    category: str
    source: int | None
    is_held: bool
    number: int


class Known(NamedTuple):
    """A listing that is installed, as it is offered now."""

    slug: str
    kind: str
    category: str
    source: int | None
    version: str
    is_held: bool


def piles(offered: Mapping[str, Any]) -> list[Pile]:
    """All that is on offer, counted."""
    return [Pile(*row) for row in _rows(_PILES, offered)]


def known(offered: Mapping[str, Any], slugs: Sequence[str]) -> list[Known]:
    """Those of them that are on offer."""
    return [Known(*row) for row in _rows(_KNOWN, {**offered, "slugs": slugs})]


def page_of(
    offered: Mapping[str, Any],
    *,
    kind: str,
    category: str,
    source: int | None,
    slugs: Sequence[str] | None,
    held: bool,
    part: slice,
) -> list[Listing]:
    """The listings that fit, by name; each with `tool_count` and without what no card shows."""
    narrowed: dict[str, Any] = {"kind": kind, "category": category, "source": source}
    narrowed |= {"slugs": slugs, "held": held}
    where = {"first": part.start, "most": part.stop - part.start}
    return list(Listing.objects.raw(_PAGE, {**offered, **narrowed, **where}))


def cards_of(keys: Sequence[int]) -> list[Listing]:
    """The same of listings that were found with the rights in the question."""
    rows = Listing.objects.raw(_CARDS, {"keys": list(keys)})
    by_key = {row.pk: row for row in rows}
    return [by_key[pk] for pk in keys if pk in by_key]


def _rows(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


_PILES = f"""
SELECT l.kind, l.category, l.source_id, NOT {PASSED}, count(*) FROM marketplace_listing l
WHERE {OFFERED} GROUP BY 1, 2, 3, 4
"""  # noqa: S608 - a condition of ours
_KNOWN = f"""
SELECT l.slug, l.kind, l.category, l.source_id, l.version, NOT {PASSED}
FROM marketplace_listing l WHERE {OFFERED} AND l.slug = ANY(%(slugs)s::text[])
"""  # noqa: S608
# The tools themselves may be long: their number is all that a card says of them.
_ON_CARDS = """
SELECT l.id, l.slug, l.source_id, l.kind, l.title, l.description, l.publisher, l.licence, l.version,
  l.transport, l.required_secrets, l.category, l.review,
  CASE jsonb_typeof(l.tools) WHEN 'array' THEN jsonb_array_length(l.tools) ELSE 0 END AS tool_count
FROM marketplace_listing l
"""
_CARDS = f"{_ON_CARDS} WHERE l.id = ANY(%(keys)s::bigint[])"
# The keys are read from an index alone: rows that come before the page cost nothing.
_PAGE = f"""
{_ON_CARDS} JOIN (
  SELECT l.id FROM marketplace_listing l
  WHERE {OFFERED} AND %(kind)s IN ('', l.kind) AND %(category)s IN ('', l.category)
    AND (%(source)s::bigint IS NULL OR l.source_id = %(source)s::bigint)
    AND (%(slugs)s::text[] IS NULL OR l.slug = ANY(%(slugs)s::text[]))
    AND (NOT %(held)s OR NOT {PASSED})
  ORDER BY l.title, l.id LIMIT %(most)s OFFSET %(first)s
) page ON page.id = l.id
ORDER BY l.title, l.id
"""  # noqa: S608
