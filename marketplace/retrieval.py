"""Listings that fit what somebody is looking for, by meaning and words, in one statement.

Rights are in it; what the viewer may not see takes no place and moves no score.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from pgvector import SparseVector, Vector

from catalog.embedding.base import EmbedderUnavailable
from catalog.embedding.queries import embed_queries
from catalog.lexical import DIMENSIONS, query_vector
from discovery.ranking.fusion import Evidence, MessageFeatures, judge
from discovery.ranking.thresholds import cut

# So many compete, by a rough sum of both; nobody turns more pages than these have.
COMPETING = 500
# Below that the best is no answer: the words of the search mean nothing that is on offer.
LEAST = 0.15


class Match(NamedTuple):
    """A listing that fits, with what it is filtered by."""

    pk: int
    slug: str
    title: str
    kind: str
    category: str
    source: int | None
    cosine: float | None
    words: float


class Matches(NamedTuple):
    """The best first; `problem` says why meaning could not be looked at."""

    found: list[Match]
    problem: str


def find_matches(words: str, *, sources: Sequence[int] | None) -> Matches:
    """What fits among the listings of these sources, or of all."""
    terms, problem, model, vector = query_vector(words), "", "", None
    try:
        embedded = embed_queries([words])
        model, vector = embedded.model, str(Vector(embedded.vectors[0]).to_text())
    except EmbedderUnavailable as unavailable:
        problem = str(unavailable)
    parameters = {
        "vector": vector,
        "model": model,
        "terms": SparseVector(terms, DIMENSIONS).to_text(),
        "everywhere": sources is None,
        "sources": list(sources or ()),
        "most": COMPETING,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COMPETING, parameters)
        rows = [Match(*row) for row in cursor.fetchall()]
    return Matches(_ranked(words, rows), problem)


def _ranked(words: str, rows: list[Match]) -> list[Match]:
    named = words.strip().casefold()
    evidence = [
        Evidence((row.cosine,), (row.words,), named in (row.slug, row.title.casefold()))
        for row in rows
    ]
    scores = [judged.score for judged in judge(evidence, MessageFeatures.of(words, ()))]
    least = max(LEAST, cut(scores))
    ranked = sorted(zip(scores, rows, strict=True), key=lambda one: (-one[0], one[1].title, one[1]))
    return [row for score, row in ranked if score >= least]


# Vectors have length one, so their inner product is the cosine.
_COMPETING = """
WITH compared AS (
  SELECT l.id, l.slug, l.title, l.kind, l.category, l.source_id,
    -(v.vector <#> %(vector)s::vector) AS cosine,
    coalesce(-(w.terms <#> %(terms)s::sparsevec), 0) AS words
  FROM marketplace_listing l
  LEFT JOIN marketplace_listingwords w ON w.listing_id = l.id
  LEFT JOIN marketplace_listingvector v ON v.listing_id = l.id
    AND v.model_id = (SELECT id FROM catalog_embeddingmodel WHERE name = %(model)s)
  WHERE l.vanished_at IS NULL AND (%(everywhere)s OR l.source_id = ANY(%(sources)s))
)
SELECT * FROM compared WHERE cosine IS NOT NULL OR words > 0
ORDER BY coalesce(cosine, 0.15) + 0.4 * words / greatest(max(words) OVER (), 1) DESC, id
LIMIT %(most)s
"""
