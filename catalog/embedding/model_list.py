"""Stored embedding models: their progress and removal.

The settings choose the model; `catalog.embedding.model_switch` builds and activates it.
"""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q

from acl.audit.recorder import record
from catalog.embedding.embedding_jobs import failed_embeddings, pending_embeddings
from catalog.models import EmbeddingModel


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """A model with its numbers of embedded, pending and failed vectors."""

    name: str
    dimension: int
    active: bool
    embedded: int
    pending: int
    failed: int


class ModelIsActiveError(Exception):
    """The active model cannot be removed."""


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


@transaction.atomic
def remove_model(*, name: str, by: User | None) -> None:
    """Delete a model and its vectors; switching back to it would rebuild them."""
    model = EmbeddingModel.objects.select_for_update().get(name=name)
    if model.active:
        raise ModelIsActiveError(name)
    record(by=by, action="embedding-model.remove", target=name)
    model.delete()
