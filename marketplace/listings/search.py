"""Hybrid search over listings, by vectors and BM25, in one SQL statement.

The statement includes visibility: hidden listings neither take places nor change scores.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from pgvector import SparseVector, Vector

from acl.platform.jobs import overdue
from catalog.embedding.configured_embedder import embedder_for
from catalog.embedding.embedder import EmbedderUnavailable, Vectors
from catalog.embedding.jobs import VectorTable, chunks, maintained_models
from catalog.embedding.multilingual_embedder import reader_of
from catalog.embedding.query_vectors import embed_queries
from catalog.embedding.texts import embedding_text, text_without_order
from catalog.lexical import DIMENSIONS, document_vector, query_vector
from catalog.models import EmbeddingModel
from discovery.select.helping_offers import MOST_OF_EACH, HelpOffer, Unmet
from discovery.select.ranking.fusion import MatchEvidence, MessageFeatures, Scale, judge, scale_of
from discovery.select.ranking.thresholds import cut, is_enough, margin
from marketplace.listings.viewer import PASSED, VISIBLE, Viewer, visible_sources
from marketplace.models import Listing, ListingVector, ListingWords

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
    background = unmet.near and unmet.near.nearness(())[:1]
    near = [
        match
        for match in matches
        if is_enough(margin([[match.cosine]], background), least=LEAST_MARGIN)
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


# Search index of listings: words are written with the listing, vectors later by the sweep.
#
# Capabilities go first, because users wait for what they install, and can already find listings by
# their words. So each sweep embeds a limited number of listings, and storing them queues no task.

log = structlog.get_logger(__name__)
# Listings embedded per sweep: a few seconds of work, so that new tools do not wait longer.
EMBEDDED_PER_SWEEP = 200
INDEX_BATCH = 500
_MOST_TOOLS = 40  # of a listing, in its search text


@transaction.atomic
def describe_listings(rows: Sequence[Listing]) -> None:
    """Index the words of listings, and queue vectors by each model for changed texts."""
    ListingWords.objects.bulk_create(
        [ListingWords(listing=row, terms=listing_terms(row), of=row.updated_at) for row in rows],
        update_conflicts=True,
        unique_fields=["listing"],
        update_fields=["terms", "of"],
    )
    hashes = {row.pk: listing_hash(row) for row in rows}
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE_VECTORS, [list(hashes), list(hashes.values())])


_QUEUE_VECTORS = """
INSERT INTO marketplace_listingvector AS v
  (listing_id, model_id, text_hash, vector_hash, attempts, failure, sent_at)
SELECT l.id, m.id, l.hash, '', 0, '', now()
FROM unnest(%s::bigint[], %s::text[]) AS l (id, hash) CROSS JOIN catalog_embeddingmodel m
ORDER BY l.id, m.id
ON CONFLICT (listing_id, model_id) DO UPDATE
  SET text_hash = EXCLUDED.text_hash, attempts = 0, failure = ''
  WHERE v.text_hash <> EXCLUDED.text_hash
"""


def describe_missing() -> int:
    """Index changed listings, and those without a row for a kept model. Return the count."""
    of_listing = {"listing": OuterRef("pk")}
    missing = Q(~Exists(ListingWords.objects.filter(of=OuterRef("updated_at"), **of_listing)))
    for model in maintained_models():
        missing |= Q(~Exists(ListingVector.objects.filter(model=model, **of_listing)))
    keys = list(Listing.objects.filter(missing).order_by("pk").values_list("pk", flat=True))
    for some in chunks(keys, INDEX_BATCH):
        with transaction.atomic():
            rows = Listing.objects.filter(pk__in=some).order_by("pk").defer("readme", "details")
            describe_listings(list(rows.select_for_update(of=("self",))))
    return len(keys)


def pending_listings() -> QuerySet[ListingVector]:
    """Return vector rows to embed that have not failed too often."""
    return _TABLE.pending()


def embed_listings(most: int = EMBEDDED_PER_SWEEP) -> int:
    """Embed up to `most` pending listings with each model. Return the number of vectors written."""
    _TABLE.record_crashes()
    return sum(_embed_with(model, most) for model in maintained_models())


def _embed_with(model: EmbeddingModel, most: int) -> int:
    """Embed pending listings: new ones in batches, retries one by one."""
    waiting = pending_listings().filter(Q(attempts=0) | overdue(), model=model)
    rows = list(waiting.order_by("attempts", "listing")[:most].values_list("pk", "attempts"))
    try:
        return _TABLE.embed(rows, embedder_for(model.name)) if rows else 0
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", model=model.name, reason=str(problem))
        return 0


def _read(keys: list[int]) -> list[ListingVector]:
    claimed = ListingVector.objects.filter(pk__in=keys).select_related("listing")
    return list(claimed.order_by("listing").defer("listing__readme", "listing__details"))


def _store(pending: Sequence[ListingVector], vectors: Vectors) -> int:
    """Write each vector, unless its text changed in the meantime."""
    stored = 0
    with transaction.atomic():
        for row, vector in zip(pending, vectors, strict=True):
            same = ListingVector.objects.filter(pk=row.pk, text_hash=row.text_hash)
            stored += same.update(vector=vector, vector_hash=row.text_hash, attempts=0, failure="")
    return stored


@dataclass(frozen=True, slots=True)
class DescribedListing:
    """A listing, with the attributes from which the catalogue builds search texts."""

    integration: str
    action: str
    full_name: str
    display_name: str
    description: str
    category: str
    category_inferred: bool
    tags: Sequence[str]
    examples: Sequence[str]
    input_schema: Mapping[str, Any]
    required_tools: Sequence[str]


def describe_as_capability(listing: Listing) -> DescribedListing:
    """Describe the listing as a capability."""
    names = [str(tool.get("name", "")) for tool in listing.tools[:_MOST_TOOLS]]
    return DescribedListing(
        integration=listing.publisher,
        action=listing.title,
        full_name=listing.slug,
        display_name=listing.slug,
        description=listing.description,
        category=listing.category,
        category_inferred=False,
        tags=listing.tags,
        examples=(),
        # Tool names stand in for parameters, since they say what the server is good for.
        input_schema={"properties": dict.fromkeys(names)},
        required_tools=(),
    )


def listing_text(listing: Listing) -> str:
    """Return the text to embed."""
    return embedding_text(describe_as_capability(listing))


def listing_hash(listing: Listing) -> str:
    """Return the digest of the text to embed."""
    text = text_without_order(describe_as_capability(listing))
    return hashlib.sha256((text + reader_of(text)).encode()).hexdigest()


def listing_terms(listing: Listing) -> SparseVector:
    """Return the BM25 document vector."""
    return SparseVector(document_vector(describe_as_capability(listing)), DIMENSIONS)


_TABLE = VectorTable(
    ListingVector, read=_read, text=lambda row: listing_text(row.listing), store=_store
)
