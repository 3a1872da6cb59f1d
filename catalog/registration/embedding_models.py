"""Stored embedding models: switching without downtime, and progress.

The settings name a model. Its vectors are built next to the active model's; once all are there, one
transaction activates it. The old vectors stay: naming the old model again switches back, at once if
no text changed.
"""

from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q

from catalog.embedding.configured_embedder import configured_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.jobs import chunks, failed_embeddings, maintained_models, pending_embeddings
from catalog.locks import lock_catalog
from catalog.models import Capability, Embedding, EmbeddingModel
from catalog.registration.descriptor_rows import write_derived

log = structlog.get_logger(__name__)
BACKFILL_BATCH = 500


def register_configured_model() -> EmbeddingModel | None:
    """Get or create the configured model; return None if it cannot be loaded.

    The first model of a catalogue is active from the start.
    """
    try:
        embedder = configured_embedder()
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", reason=str(problem))
        return None
    with transaction.atomic():
        lock_catalog()
        model, _ = EmbeddingModel.objects.get_or_create(
            name=embedder.name,
            defaults={
                "dimension": embedder.dimension,
                "active": not EmbeddingModel.objects.filter(active=True).exists(),
            },
        )
    return model


def request_missing_vectors() -> int:
    """Create pending rows and search words for capabilities a model lacks; return how many."""
    models = list(maintained_models())
    missing = [key for model in models for key in _capabilities_without_row(model)]
    for keys in chunks(sorted(set(missing)), BACKFILL_BATCH):
        with transaction.atomic():
            lock_catalog()
            rows = Capability.objects.filter(pk__in=keys).select_related("integration")
            write_derived(list(rows.order_by("pk")))
    return len(missing)


def _capabilities_without_row(model: EmbeddingModel) -> list[int]:
    rows_of_model = Embedding.objects.filter(model=model, capability=OuterRef("pk"))
    return list(Capability.objects.filter(~Exists(rows_of_model)).values_list("pk", flat=True))


def switch_when_complete(model: EmbeddingModel) -> bool:
    """Activate the model once nothing is pending for it."""
    if (
        model.active
        or _capabilities_without_row(model)
        or pending_embeddings().filter(model=model).exists()
    ):
        return False
    with transaction.atomic():
        lock_catalog()
        # First deactivate, then activate: a unique constraint allows one active model.
        EmbeddingModel.objects.filter(active=True).update(active=False)
        EmbeddingModel.objects.filter(pk=model.pk).update(active=True)
    log.info("embedding model switched", model=model.name)
    return True


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """A model with its numbers of embedded, pending and failed vectors."""

    name: str
    dimension: int
    active: bool
    embedded: int
    pending: int
    failed: int


def list_model_progress() -> list[ModelProgress]:
    """Return the progress of every stored model, the active one first."""
    done = Count("embeddings", filter=Q(embeddings__vector_hash=F("embeddings__text_hash")))
    models = EmbeddingModel.objects.annotate(embedded=done).order_by("-active", "pk")
    return [
        ModelProgress(
            name=model.name,
            dimension=model.dimension,
            active=model.active,
            embedded=model.embedded,
            pending=pending_embeddings().filter(model=model).count(),
            failed=failed_embeddings().filter(model=model).count(),
        )
        for model in models
    ]
