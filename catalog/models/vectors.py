"""Vectors, in their own tables: updates of capabilities rewrite no vector.

An `Embedding` row is also the request to embed its capability: it is written in the capability's
transaction and stays pending while `vector_hash` differs from `text_hash`.
"""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from pgvector.django import SparseVectorField, VectorField

from acl.platform.migration_operations import DatabaseTrigger, Triggers
from catalog.models.capability import Capability

# Versions of what the candidate index is built from, beside the catalogue's own.


class _Counter(models.Model):
    number = models.PositiveBigIntegerField(default=1)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.number)


class IndexVersion(_Counter):
    """A counter, one of several, which triggers increment with every change of vectors, words and
    relations.

    A change takes any counter that is free, so no transaction waits for another one's. Together
    they are the version: no two states have the same.
    """


def count_index_change(table: str, *columns: str) -> DatabaseTrigger:
    """Declare the trigger of a table that the index is built from (`0023_index_version`)."""
    updates = f"UPDATE OF {', '.join(columns)}" if columns else "UPDATE"
    return DatabaseTrigger(
        f"{table}_indexed",
        f"AFTER INSERT OR DELETE OR {updates}",
        "STATEMENT",
        "catalog_count_index_change",
    )


# The catalogue's version number.


class CatalogVersion(_Counter):
    """A single row, incremented by triggers with every change.

    Caches carry the number in their keys, so no reader sees a mixed or stale state.
    """


class EmbeddingModel(models.Model):
    """A model with stored vectors. The active one answers; others are being built."""

    name = models.CharField(max_length=200, unique=True)
    dimension = models.PositiveIntegerField()
    active = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["active"], condition=Q(active=True), name="catalog_one_active_model"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Embedding(models.Model):
    """A capability's vector by one model, or the request for it."""

    triggers: ClassVar[Triggers] = (
        count_index_change("catalog_embedding", "capability_id", "model_id", "vector"),
    )

    capability = models.ForeignKey(Capability, models.CASCADE, related_name="embeddings")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="embeddings")
    text_hash = models.CharField(max_length=64, help_text="Of the text as it is now.")
    vector = VectorField(null=True)  # no fixed length: models differ
    vector_hash = models.CharField(max_length=64, blank=True, help_text="Of the text embedded.")
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.CharField(max_length=300, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["capability", "model"], name="catalog_embedding_once"),
        ]
        indexes = [
            models.Index(
                fields=["sent_at"],
                condition=~Q(vector_hash=F("text_hash")),
                name="catalog_embedding_pending",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.capability_id} by {self.model_id}"


class LexicalVector(models.Model):
    """A capability's BM25 vector; see `catalog.lexical`."""

    triggers: ClassVar[Triggers] = (count_index_change("catalog_lexicalvector"),)

    capability = models.OneToOneField(
        Capability, models.CASCADE, primary_key=True, related_name="lexical"
    )
    terms = SparseVectorField(dimensions=2**18)  # as in catalog.lexical; a test compares them

    def __str__(self) -> str:
        return str(self.capability_id)
