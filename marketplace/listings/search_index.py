"""Search index of listings: words are written with the listing, vectors later by the sweep.

Capabilities go first, because users wait for what they install, and can already find listings by
their words. So each sweep embeds a limited number of listings, and storing them queues no task.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from pgvector import SparseVector

from acl.platform.jobs.rows import overdue
from catalog.embedding.configured_embedder import embedder_for
from catalog.embedding.embedder import EmbedderUnavailable, Vectors
from catalog.embedding.jobs import maintained_models
from catalog.embedding.multilingual_embedder import reader_of
from catalog.embedding.texts import embedding_text, text_without_order
from catalog.embedding.vector_batches import VectorTable, chunks
from catalog.lexical import DIMENSIONS, document_vector
from catalog.models import EmbeddingModel
from marketplace.models import Listing, ListingVector, ListingWords

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
