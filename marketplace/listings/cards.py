"""SQL reads for marketplace pages: facet counts and the listings of one page.

Raw SQL, because building these queries in the ORM takes longer than Postgres needs to run them.
Every statement includes the viewer's visibility condition.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection

from marketplace.listings.package_test import FINDINGS
from marketplace.listings.viewer import OFFERED, PASSED
from marketplace.models import Listing


class ListingGroup(NamedTuple):
    """Number of listings with the same kind, category and source."""

    kind: str
    category: str
    source: int | None
    is_held: bool
    number: int


class MarkedOffer(NamedTuple):
    """Current offer of a listing, installed or known to work."""

    slug: str
    kind: str
    category: str
    source: int | None
    version: str
    is_held: bool
    is_known: bool


def count_listings(visibility: Mapping[str, Any]) -> list[ListingGroup]:
    """Count the visible listings by kind, category and source."""
    return [ListingGroup(*row) for row in _fetch_rows(_GROUPS, visibility)]


def find_marked_offers(
    visibility: Mapping[str, Any], slugs: Sequence[str], tested: Sequence[int]
) -> list[MarkedOffer]:
    """Return the current offers of the given listings, and of those that are known to work.

    `tested` are the sources of the latter. Only what is visible is returned.
    """
    wanted = {**visibility, "slugs": slugs, "tested": list(tested)}
    return [MarkedOffer(*row) for row in _fetch_rows(_MARKED_OFFERS, wanted)]


def read_page(
    visibility: Mapping[str, Any],
    *,
    kind: str,
    category: str,
    source: int | None,
    slugs: Sequence[str] | None,
    held: bool,
    part: slice,
) -> list[Listing]:
    """Return one page of listings by title, with `tool_count` and only the columns of a card."""
    narrowed: dict[str, Any] = {"kind": kind, "category": category, "source": source}
    narrowed |= {"slugs": slugs, "held": held}
    where = {"first": part.start, "most": part.stop - part.start}
    return list(Listing.objects.raw(_PAGE, {**visibility, **narrowed, **where}))


def read_cards(keys: Sequence[int]) -> list[Listing]:
    """Return cards in the order of `keys`. Callers must have checked visibility already."""
    rows = Listing.objects.raw(_CARDS, {"keys": list(keys)})
    by_key = {row.pk: row for row in rows}
    return [by_key[pk] for pk in keys if pk in by_key]


def _fetch_rows(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


_GROUPS = f"""
SELECT l.kind, l.category, l.source_id, NOT {PASSED}, count(*) FROM marketplace_listing l
WHERE {OFFERED} GROUP BY 1, 2, 3, 4
"""  # noqa: S608 - OFFERED and PASSED are constants of this project
_IS_KNOWN = f"(l.source_id = ANY(%(tested)s::bigint[]) AND l.details ? '{FINDINGS}')"
_MARKED_OFFERS = f"""
SELECT l.slug, l.kind, l.category, l.source_id, l.version, NOT {PASSED},
  coalesce({_IS_KNOWN}, false)
FROM marketplace_listing l
WHERE {OFFERED} AND (l.slug = ANY(%(slugs)s::text[]) OR {_IS_KNOWN})
"""  # noqa: S608
# Tool lists may be long, and a card shows only their number.
_ON_CARDS = f"""
SELECT l.id, l.slug, l.source_id, l.kind, l.title, l.description, l.publisher, l.licence, l.version,
  l.transport, l.required_secrets, l.category, l.review,
  CASE WHEN l.details ->> 'type' IN ('starter', 'added') THEN l.details -> '{FINDINGS}' END
    AS test_findings,
  CASE jsonb_typeof(l.tools) WHEN 'array' THEN jsonb_array_length(l.tools) ELSE 0 END AS tool_count,
  s.image_id AS picture
FROM marketplace_listing l LEFT JOIN catalog_iconsource s ON s.id = l.icon_id
"""  # noqa: S608
_CARDS = f"{_ON_CARDS} WHERE l.id = ANY(%(keys)s::bigint[])"
# The inner query reads only an index, so that skipping earlier pages stays cheap.
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
