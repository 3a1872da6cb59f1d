"""Changing the embedding model with no time without answers.

The settings say which model is wanted. Its vectors are built beside those that answer; when the
last one is there, one transaction makes it the model that answers. The old vectors stay: naming
the old model again goes back in the same way, at once where nothing has changed meanwhile.
"""

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef

from catalog.embedding.configured_embedder import configured_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.embedding_jobs import chunks, kept_models, pending
from catalog.locks import lock_catalog
from catalog.models import Capability, Embedding, EmbeddingModel
from catalog.registration.descriptor_rows import write_derived

log = structlog.get_logger(__name__)
PROMISED_AT_ONCE = 500


def register_configured_model() -> EmbeddingModel | None:
    """The stored model that the settings name, made if it is new; None where it cannot be loaded.

    The first model of a catalogue answers from the start.
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


def promise_missing() -> int:
    """Promise vectors, and words, to what a kept model knows nothing of; how many."""
    models = list(kept_models())
    missing = [key for model in models for key in _unpromised(model)]
    for keys in chunks(sorted(set(missing)), PROMISED_AT_ONCE):
        with transaction.atomic():
            lock_catalog()
            rows = Capability.objects.filter(pk__in=keys).select_related("integration")
            write_derived(list(rows.order_by("pk")))
    return len(missing)


def _unpromised(model: EmbeddingModel) -> list[int]:
    promised = Embedding.objects.filter(model=model, capability=OuterRef("pk"))
    return list(Capability.objects.filter(~Exists(promised)).values_list("pk", flat=True))


def switch_when_complete(model: EmbeddingModel) -> bool:
    """Let the model answer once it has a vector for everything that can be embedded."""
    if model.active or _unpromised(model) or pending().filter(model=model).exists():
        return False
    with transaction.atomic():
        lock_catalog()
        EmbeddingModel.objects.filter(active=True).update(active=False)
        EmbeddingModel.objects.filter(pk=model.pk).update(active=True)
    log.info("embedding model switched", model=model.name)
    return True
