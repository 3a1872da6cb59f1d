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
from discovery.ranking.scales import Scale, scale_of
from discovery.ranking.thresholds import cut
from marketplace.viewing import PASSED, VISIBLE

# So many of each compete, by meaning and by words; nobody turns more pages than these have.
COMPETING = 96
# So many are compared by their vectors: those whose signs are the most alike. Of the 24 nearest to
# each of 200 messages, among 5,191 tools, 98.6 % were there; of the 10 nearest 99.7 %.
ALIKE = 400
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
    is_held: bool
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
        "alike": ALIKE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COMPETING, parameters)
        rows = [Match(*row) for row in cursor.fetchall()]
    return Matches(_ranked(words, rows, scale_of(model)), problem)


def _ranked(words: str, rows: list[Match], scale: Scale) -> list[Match]:
    named = words.strip().casefold()
    evidence = [
        Evidence((row.cosine,), (row.words,), named in (row.slug, row.title.casefold()))
        for row in rows
    ]
    scores = [judged.score for judged in judge(evidence, MessageFeatures.of(words, ()), scale)]
    least = max(LEAST, cut(scores))
    ranked = sorted(zip(scores, rows, strict=True), key=lambda one: (-one[0], one[1].title, one[1]))
    return [row for score, row in ranked if score >= least]


# Vectors have length one, so their inner product is the cosine. The signs of their numbers are read
# first, from an index: how many differ tells which vectors are worth a comparison. Each arm leaves
# out what is hidden, which are few; what only one has found is looked up in the table of the other.
_COMPETING = f"""
WITH model AS (SELECT id FROM catalog_embeddingmodel WHERE name = %(model)s),
wanted AS MATERIALIZED (SELECT %(vector)s::halfvec AS vector),
hidden AS MATERIALIZED (
  SELECT l.id FROM marketplace_listing l WHERE l.vanished_at IS NOT NULL
  UNION ALL
  SELECT l.id FROM marketplace_listing l
  WHERE l.vanished_at IS NULL AND NOT %(everywhere)s AND {VISIBLE} IS NOT TRUE
),
alike AS (
  SELECT v.listing_id AS id FROM marketplace_listingvector v
  WHERE v.model_id = (SELECT id FROM model) AND v.vector IS NOT NULL
    AND NOT EXISTS (SELECT FROM hidden h WHERE h.id = v.listing_id)
  ORDER BY v.signs::"bit" <~> (SELECT binary_quantize(vector) FROM wanted), v.listing_id
  LIMIT %(alike)s
),
near AS (
  SELECT alike.id, (
    SELECT -(v.vector <#> (SELECT vector FROM wanted)) FROM marketplace_listingvector v
    WHERE v.listing_id = alike.id AND v.model_id = (SELECT id FROM model)
  ) AS cosine
  FROM alike ORDER BY cosine DESC LIMIT %(most)s
),
said AS (
  SELECT id, words FROM (
    SELECT w.listing_id AS id, -(w.terms <#> %(terms)s::sparsevec) AS words
    FROM marketplace_listingwords w
    WHERE NOT EXISTS (SELECT FROM hidden h WHERE h.id = w.listing_id)
    OFFSET 0
  ) scored
  WHERE words > 0 ORDER BY words DESC LIMIT %(most)s
)
SELECT l.id, l.slug, l.title, l.kind, l.category, l.source_id, NOT {PASSED},
  coalesce(near.cosine, (
    SELECT -(v.vector <#> (SELECT vector FROM wanted)) FROM marketplace_listingvector v
    WHERE v.listing_id = l.id AND v.model_id = (SELECT id FROM model)
  )),
  coalesce(said.words, (
    SELECT -(w.terms <#> %(terms)s::sparsevec) FROM marketplace_listingwords w
    WHERE w.listing_id = l.id
  ), 0)
FROM near FULL JOIN said USING (id) JOIN marketplace_listing l USING (id)
"""  # noqa: S608 - conditions of ours
