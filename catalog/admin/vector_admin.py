"""Read-only admin of vectors and their models."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest

from acl.admin.admin_base import ReadOnlyAdmin
from catalog.embedding.embedding_jobs import failed_embeddings, pending_embeddings
from catalog.models import CatalogVersion, Embedding, EmbeddingModel, LexicalVector


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    list_display = ("name", "dimension", "active", "created_at")
    list_filter = ("active",)
    search_fields = ("name",)


class VectorStateFilter(admin.SimpleListFilter):
    """A filter for ready, pending and failed vectors."""

    title = "vector"
    parameter_name = "vector"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [("ready", "Ready"), ("waiting", "Waiting"), ("failed", "Failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Embedding]) -> QuerySet[Embedding]:
        if self.value() == "ready":
            return queryset.filter(vector_hash=F("text_hash"))
        wanted = {"waiting": pending_embeddings, "failed": failed_embeddings}.get(
            self.value() or ""
        )
        return queryset.filter(pk__in=wanted().values("pk")) if wanted else queryset


@admin.register(Embedding)
class EmbeddingAdmin(ReadOnlyAdmin):
    list_display = ("capability", "model", "ready", "attempts", "failure", "sent_at")
    list_filter = (VectorStateFilter, "model")
    list_select_related = ("capability", "model")
    search_fields = ("capability__full_name",)
    exclude = ("vector",)
    ordering = ("-sent_at", "-pk")

    @admin.display(boolean=True)
    def ready(self, embedding: Embedding) -> bool:
        return embedding.vector_hash == embedding.text_hash


@admin.register(LexicalVector)
class LexicalVectorAdmin(ReadOnlyAdmin):
    list_display = ("capability",)
    list_select_related = ("capability",)
    search_fields = ("capability__full_name",)
    exclude = ("terms",)
    ordering = ("capability__full_name",)


@admin.register(CatalogVersion)
class CatalogVersionAdmin(ReadOnlyAdmin):
    list_display = ("number",)
    ordering = ("pk",)
