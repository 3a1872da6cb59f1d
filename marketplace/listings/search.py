"""Hybrid search over listings, by vectors and BM25, in one SQL statement.

The statement includes visibility: hidden listings neither take places nor change scores.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.utils.translation import gettext as _
from pgvector import SparseVector, Vector

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.query_vectors import embed_queries
from catalog.lexical import DIMENSIONS, query_vector
from discovery.select.helping_offers import MOST_OF_EACH, HelpOffer, Unmet
from discovery.select.ranking.fusion import MatchEvidence, MessageFeatures, judge
from discovery.select.ranking.scales import Scale, scale_of
from discovery.select.ranking.thresholds import cut, is_enough, margin
from marketplace.listings.viewer import PASSED, VISIBLE, Viewer, visible_sources

# Candidates kept by each of the two searches. Nobody pages further than this.
CANDIDATES = 96
# Candidates compared by full vector: those with the fewest differing signs. Over 200 messages and
# 5,191 tools, they included 98.6 % of the 24 nearest, and 99.7 % of the 10 nearest.
COMPARED = 400
# Minimum score of the best match. Below it, the query matches nothing on offer.
MIN_SCORE = 0.15


class Match(NamedTuple):
    """A candidate listing with its facets and scores."""

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
    """Matches, best first. `problem` says why the search used keywords only."""

    found: list[Match]
    problem: str


def find_matches(words: str, *, sources: Sequence[int] | None) -> Matches:
    """Search the listings of the given sources, or of all sources if None."""
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
        "most": CANDIDATES,
        "alike": COMPARED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SEARCH, parameters)
        rows = [Match(*row) for row in cursor.fetchall()]
    return Matches(_rank(words, rows, scale_of(model)), problem)


def _rank(words: str, rows: list[Match], scale: Scale) -> list[Match]:
    title_sought = words.strip().casefold()
    evidence = [
        MatchEvidence((row.cosine,), (row.words,), title_sought in (row.slug, row.title.casefold()))
        for row in rows
    ]
    scores = [judged.score for judged in judge(evidence, MessageFeatures.of(words, ()), scale)]
    least = max(MIN_SCORE, cut(scores))
    ranked = sorted(
        zip(scores, rows, strict=True),
        key=lambda scored_row: (-scored_row[0], scored_row[1].title, scored_row[1]),
    )
    return [row for score, row in ranked if score >= least]


# Vectors have length one, so their inner product is the cosine. Hamming distance over the vectors'
# signs, read from an index, selects the ones worth a full comparison. Each arm excludes the few
# hidden listings. A listing found by one arm only gets its other score from a lookup at the end.
_SEARCH = f"""
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


# Listings that could help where nothing fits, offered with the answer to a message.
# Only what every signed-in user sees in the marketplace is offered, whoever asks: an answer may
# be read by others than the person it is for.

# A listing's text is broad, so it has to be nearer than a tool's: at the common abilities' level.
LEAST_MARGIN = -0.05


def offer_listings(unmet: Unmet) -> list[HelpOffer]:
    """Return the listings nearest to the message, if they are near at all. Two statements."""
    viewer = Viewer(is_admin=False, caller=unmet.caller)
    keys = [source.pk for source in visible_sources(viewer)]
    matches = find_matches(unmet.message, sources=keys).found
    near = [
        match
        for match in matches
        if is_enough(
            margin([[match.cosine]], unmet.background and unmet.background[:1]), least=LEAST_MARGIN
        )
    ]
    return [
        HelpOffer(
            "listing",
            match.slug,
            _("%(listing)s in the marketplace may help; an admin can install it.")
            % {"listing": match.title},
        )
        for match in near[:MOST_OF_EACH]
    ]
