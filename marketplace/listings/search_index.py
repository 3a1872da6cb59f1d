"""Listings made findable: their words when they are stored, their vectors by the sweep.

Capabilities go first: what somebody installs is waited for, what could be installed is found by its
words meanwhile. So a sweep embeds only some listings, and nothing is sent when they are stored.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from catalog.embedding.configured_embedder import embedder_named
from catalog.embedding.document_vectors import embed_documents
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, TextRefused, Vectors
from catalog.embedding.embedding_jobs import DIED, chunks, kept_models
from catalog.models import EmbeddingModel
from marketplace.listings.search_text import listing_hash, listing_terms, listing_text
from marketplace.models import Listing, ListingVector, ListingWords

log = structlog.get_logger(__name__)
# Of a sweep: some seconds of work, so that a new tool's vector waits no longer than that.
EMBEDDED_AT_ONCE = 200
DESCRIBED_AT_ONCE = 500


@transaction.atomic
def describe_listings(rows: Sequence[Listing]) -> None:
    """Write their words, and promise a vector by each model for those whose text is new."""
    ListingWords.objects.bulk_create(
        [ListingWords(listing=row, terms=listing_terms(row), of=row.updated_at) for row in rows],
        update_conflicts=True,
        unique_fields=["listing"],
        update_fields=["terms", "of"],
    )
    hashes = {row.pk: listing_hash(row) for row in rows}
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, [list(hashes), list(hashes.values())])


_PROMISE = """
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
    """Describe what has changed without it, or is new to a kept model; how many."""
    own = {"listing": OuterRef("pk")}
    missing = Q(~Exists(ListingWords.objects.filter(of=OuterRef("updated_at"), **own)))
    for model in kept_models():
        missing |= Q(~Exists(ListingVector.objects.filter(model=model, **own)))
    keys = list(Listing.objects.filter(missing).order_by("pk").values_list("pk", flat=True))
    for some in chunks(keys, DESCRIBED_AT_ONCE):
        with transaction.atomic():
            rows = Listing.objects.filter(pk__in=some).order_by("pk").defer("readme", "details")
            describe_listings(list(rows.select_for_update(of=("self",))))
    return len(keys)


def pending_listings() -> QuerySet[ListingVector]:
    """Promises that are open and have not failed too often."""
    return ListingVector.objects.exclude(vector_hash=F("text_hash")).filter(
        attempts__lt=settings.PEGBOARD_EMBEDDING_ATTEMPTS
    )


def embed_listings(most: int = EMBEDDED_AT_ONCE) -> int:
    """Embed some of what waits, by each model; how many vectors were written."""
    gave_up = ListingVector.objects.exclude(vector_hash=F("text_hash"))
    gave_up.filter(attempts__gte=settings.PEGBOARD_EMBEDDING_ATTEMPTS, failure="").update(
        failure=DIED
    )
    return sum(_embed_by(model, most) for model in kept_models())


def _embed_by(model: EmbeddingModel, most: int) -> int:
    """In batches of new ones; alone what was begun before, since it may have ended the worker."""
    stale = Now() - timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    waiting = pending_listings().filter(Q(attempts=0) | Q(sent_at__lt=stale), model=model)
    rows = list(waiting.order_by("attempts", "listing")[:most].values_list("pk", "attempts"))
    fresh = [pk for pk, attempts in rows if attempts == 0]
    size = settings.PEGBOARD_EMBEDDING_BATCH
    batches = [*chunks(fresh, size), *([pk] for pk, attempts in rows if attempts)]
    try:
        embedder = embedder_named(model.name) if batches else None
        return sum(_embed_batch(batch, embedder) for batch in batches if embedder)
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", model=model.name, reason=str(problem))
        return 0


def _embed_batch(batch: Sequence[int], embedder: Embedder) -> int:
    """Embed the batch, or its halves where it fails, down to the one that cannot be embedded."""
    promises = _claim(batch)
    if not promises:
        return 0
    try:
        texts = [listing_text(promise.listing) for promise in promises]
        vectors = embed_documents(embedder, texts)
    except Exception as problem:
        if len(promises) == 1 and not _is_away(problem):
            _note_failure(promises[0], str(problem) or type(problem).__name__)
            return 0
        _give_back(promises)
        if _is_away(problem):
            raise
        keys = [promise.pk for promise in promises]
        return sum(_embed_batch(half, embedder) for half in chunks(keys, (len(keys) + 1) // 2))
    return _store(promises, vectors)


def _note_failure(promise: ListingVector, reason: str) -> None:
    same = ListingVector.objects.filter(pk=promise.pk, text_hash=promise.text_hash)
    same.update(failure=reason[:300])


def _is_away(problem: Exception) -> bool:
    return isinstance(problem, EmbedderUnavailable) and not isinstance(problem, TextRefused)


def _claim(batch: Sequence[int]) -> list[ListingVector]:
    """Count the attempt, committed before work that may end the process; then read the texts."""
    with transaction.atomic():
        rows = pending_listings().filter(pk__in=batch)
        keys = list(
            rows.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True)
        )
        ListingVector.objects.filter(pk__in=keys).update(attempts=F("attempts") + 1, sent_at=Now())
    claimed = ListingVector.objects.filter(pk__in=keys).select_related("listing")
    return list(claimed.order_by("listing").defer("listing__readme", "listing__details"))


def _give_back(promises: Iterable[ListingVector]) -> None:
    """Take the attempt back: it says nothing about these texts."""
    begun = ListingVector.objects.filter(pk__in=[row.pk for row in promises], attempts__gt=0)
    begun.update(attempts=F("attempts") - 1)


def _store(promises: Sequence[ListingVector], vectors: Vectors) -> int:
    """Write each vector, unless the text has changed since it was read."""
    written = 0
    with transaction.atomic():
        for promise, vector in zip(promises, vectors, strict=True):
            same = ListingVector.objects.filter(pk=promise.pk, text_hash=promise.text_hash)
            written += same.update(
                vector=vector, vector_hash=promise.text_hash, attempts=0, failure=""
            )
    return written
