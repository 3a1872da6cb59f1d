"""Search index of listings: words are written with the listing, vectors later by the sweep.

Capabilities go first, because users wait for what they install, and can already find listings by
their words. So each sweep embeds a limited number of listings, and storing them queues no task.
"""

from collections.abc import Iterable, Sequence

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from acl.platform.jobs.job_rows import overdue, update_unlocked
from catalog.embedding.configured_embedder import embedder_for
from catalog.embedding.document_vectors import embed_documents
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, TextRefused, Vectors
from catalog.embedding.embedding_jobs import CRASHED, chunks, maintained_models
from catalog.models import EmbeddingModel
from marketplace.listings.search_text import listing_hash, listing_terms, listing_text
from marketplace.models import Listing, ListingVector, ListingWords

log = structlog.get_logger(__name__)
# Listings embedded per sweep: a few seconds of work, so that new tools do not wait longer.
EMBEDDED_PER_SWEEP = 200
INDEX_BATCH = 500


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
    own = {"listing": OuterRef("pk")}
    missing = Q(~Exists(ListingWords.objects.filter(of=OuterRef("updated_at"), **own)))
    for model in maintained_models():
        missing |= Q(~Exists(ListingVector.objects.filter(model=model, **own)))
    keys = list(Listing.objects.filter(missing).order_by("pk").values_list("pk", flat=True))
    for some in chunks(keys, INDEX_BATCH):
        with transaction.atomic():
            rows = Listing.objects.filter(pk__in=some).order_by("pk").defer("readme", "details")
            describe_listings(list(rows.select_for_update(of=("self",))))
    return len(keys)


def pending_listings() -> QuerySet[ListingVector]:
    """Return vector rows to embed that have not failed too often."""
    return ListingVector.objects.exclude(vector_hash=F("text_hash")).filter(
        attempts__lt=settings.PEGBOARD_EMBEDDING_ATTEMPTS
    )


def embed_listings(most: int = EMBEDDED_PER_SWEEP) -> int:
    """Embed up to `most` pending listings with each model. Return the number of vectors written."""
    gave_up = ListingVector.objects.exclude(vector_hash=F("text_hash"))
    gave_up.filter(attempts__gte=settings.PEGBOARD_EMBEDDING_ATTEMPTS, failure="").update(
        failure=CRASHED
    )
    return sum(_embed_with(model, most) for model in maintained_models())


def _embed_with(model: EmbeddingModel, most: int) -> int:
    """Embed pending listings: new ones in batches, retries one by one."""
    # An earlier attempt may have killed the worker: alone it cannot take others down with it.
    waiting = pending_listings().filter(Q(attempts=0) | overdue(), model=model)
    rows = list(waiting.order_by("attempts", "listing")[:most].values_list("pk", "attempts"))
    fresh = [pk for pk, attempts in rows if attempts == 0]
    size = settings.PEGBOARD_EMBEDDING_BATCH
    batches = [*chunks(fresh, size), *([pk] for pk, attempts in rows if attempts)]
    try:
        embedder = embedder_for(model.name) if batches else None
        return sum(_embed_batch(batch, embedder) for batch in batches if embedder)
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", model=model.name, reason=str(problem))
        return 0


def _embed_batch(batch: Sequence[int], embedder: Embedder) -> int:
    """Embed the batch. On failure, bisect it to find the text that cannot be embedded."""
    pending = _claim(batch)
    if not pending:
        return 0
    try:
        texts = [listing_text(row.listing) for row in pending]
        vectors = embed_documents(embedder, texts)
    except Exception as problem:
        if len(pending) == 1 and not _is_unavailable(problem):
            _note_failure(pending[0], str(problem) or type(problem).__name__)
            return 0
        _release(pending)
        if _is_unavailable(problem):
            raise
        keys = [row.pk for row in pending]
        return sum(_embed_batch(half, embedder) for half in chunks(keys, (len(keys) + 1) // 2))
    return _store(pending, vectors)


def _note_failure(row: ListingVector, reason: str) -> None:
    same = ListingVector.objects.filter(pk=row.pk, text_hash=row.text_hash)
    same.update(failure=reason[:300])


def _is_unavailable(problem: Exception) -> bool:
    return isinstance(problem, EmbedderUnavailable) and not isinstance(problem, TextRefused)


def _claim(batch: Sequence[int]) -> list[ListingVector]:
    """Count the attempt, then read the texts."""
    # Committed before the work, which may kill the process.
    rows = pending_listings().filter(pk__in=batch)
    keys = update_unlocked(rows, attempts=F("attempts") + 1, sent_at=Now())
    claimed = ListingVector.objects.filter(pk__in=keys).select_related("listing")
    return list(claimed.order_by("listing").defer("listing__readme", "listing__details"))


def _release(pending: Iterable[ListingVector]) -> None:
    """Undo the attempt count of a batch."""
    # The embedder was unavailable, or another text of the batch failed: that says nothing of these.
    begun = ListingVector.objects.filter(pk__in=[row.pk for row in pending], attempts__gt=0)
    begun.update(attempts=F("attempts") - 1)


def _store(pending: Sequence[ListingVector], vectors: Vectors) -> int:
    """Write each vector, unless its text changed in the meantime."""
    written = 0
    with transaction.atomic():
        for row, vector in zip(pending, vectors, strict=True):
            same = ListingVector.objects.filter(pk=row.pk, text_hash=row.text_hash)
            written += same.update(vector=vector, vector_hash=row.text_hash, attempts=0, failure="")
    return written
