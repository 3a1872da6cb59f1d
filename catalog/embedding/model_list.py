"""The embedding models: how far each is, and giving one up.

Which one is wanted is a setting; `catalog.embedding.model_switch` builds it and lets it answer.
"""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q

from acl.audit.recorder import record
from catalog.embedding.embedding_jobs import failed, pending
from catalog.models import EmbeddingModel


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """How many vectors of a model are there, are to come, and will not come."""

    name: str
    dimension: int
    active: bool
    embedded: int
    pending: int
    failed: int


class ModelIsActiveError(Exception):
    """The model that answers cannot be given up."""


def model_progress() -> list[ModelProgress]:
    """Every stored model, the one that answers first."""
    done = Count("embeddings", filter=Q(embeddings__vector_hash=F("embeddings__text_hash")))
    models = EmbeddingModel.objects.annotate(embedded=done).order_by("-active", "pk")
    return [
        ModelProgress(
            name=model.name,
            dimension=model.dimension,
            active=model.active,
            embedded=model.embedded,
            pending=pending().filter(model=model).count(),
            failed=failed().filter(model=model).count(),
        )
        for model in models
    ]


@transaction.atomic
def remove_model(*, name: str, by: User | None) -> None:
    """Give up a model's vectors; going back to it would build them anew."""
    model = EmbeddingModel.objects.select_for_update().get(name=name)
    if model.active:
        raise ModelIsActiveError(name)
    record(by=by, action="embedding-model.remove", target=name)
    model.delete()
