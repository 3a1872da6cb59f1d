"""Read-only admin of health, secrets, OAuth, definitions, manifests and vectors.

Secret values are left out. Decisions about definitions and proposals have pages of their own.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin import EmptyFieldListFilter
from django.db.models import F, QuerySet
from django.http import HttpRequest

from acl.admin.admin_base import ReadOnlyAdmin
from catalog.embedding.jobs import failed_embeddings, pending_embeddings
from catalog.models import (
    ApiDocument,
    CatalogVersion,
    Definition,
    Embedding,
    EmbeddingModel,
    HealthCheck,
    IconImage,
    IconSource,
    IndexVersion,
    KeptLimit,
    LexicalVector,
    ManifestFile,
    Memo,
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
    OutgoingHost,
    PrivateHost,
    RuntimeCapability,
    Secret,
    ServerProposal,
    Sync,
    Todo,
)


@admin.register(HealthCheck)
class HealthCheckAdmin(ReadOnlyAdmin):
    list_display = ("integration", "checked_at", "reason", "milliseconds", "tools")
    list_filter = ("reason", ("reason", EmptyFieldListFilter))
    list_select_related = ("integration",)
    search_fields = ("integration__slug", "reason", "last_words")


@admin.register(Memo, Todo)
class PersonalAdmin(ReadOnlyAdmin):
    """Rows that tools keep for people, without their contents."""

    fields = ("user", "key", "created_at")
    list_display = ("key", "user", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "key")


@admin.register(ApiDocument)
class ApiDocumentAdmin(ReadOnlyAdmin):
    exclude = ("content",)
    list_display = ("address", "digest", "by", "created_at")
    list_select_related = ("by",)
    search_fields = ("address", "digest")


@admin.register(IconSource)
class IconSourceAdmin(ReadOnlyAdmin):
    list_display = ("address", "state", "problem", "read_at", "due_at")
    list_filter = ("state",)
    search_fields = ("address",)


@admin.register(IconImage)
class IconImageAdmin(ReadOnlyAdmin):
    exclude = ("content",)
    list_display = ("public_id", "digest", "created_at")
    search_fields = ("digest",)


@admin.register(KeptLimit)
class KeptLimitAdmin(ReadOnlyAdmin):
    list_display = ("integration", "action", "kind", "effect", "space", "user", "group", "kept_at")
    list_select_related = ("space__group", "user", "group")
    search_fields = ("integration", "action")


@admin.register(OutgoingHost)
class OutgoingHostAdmin(ReadOnlyAdmin):
    list_display = ("integration", "host", "allowed", "times", "last_at")
    list_filter = ("allowed",)
    list_select_related = ("integration",)
    search_fields = ("integration__slug", "host")


@admin.register(PrivateHost)
class PrivateHostAdmin(ReadOnlyAdmin):
    list_display = ("host", "port", "by", "created_at")
    list_select_related = ("by",)
    search_fields = ("host",)


@admin.register(Secret)
class SecretAdmin(ReadOnlyAdmin):
    exclude = ("sealed",)
    list_display = ("integration", "name", "user", "set_at")
    list_select_related = ("integration", "user")
    search_fields = ("integration__slug", "name", "user__username")


@admin.register(OAuthClient)
class OAuthClientAdmin(ReadOnlyAdmin):
    list_display = ("integration", "client_id", "issuer", "by_hand")
    list_select_related = ("integration",)
    search_fields = ("integration__slug", "client_id", "issuer")


@admin.register(OAuthConnection)
class OAuthConnectionAdmin(ReadOnlyAdmin):
    list_display = ("integration", "user", "issuer", "expires_at", "problem")
    list_select_related = ("integration", "user")
    search_fields = ("integration__slug", "user__username", "issuer")


@admin.register(OAuthRevocation)
class OAuthRevocationAdmin(ReadOnlyAdmin):
    exclude = ("sealed_token", "sealed_client")
    list_display = ("endpoint", "client_id", "created_at")
    search_fields = ("endpoint", "client_id")


@admin.register(OAuthSignIn)
class OAuthSignInAdmin(ReadOnlyAdmin):
    # The address and the sealed values let their reader complete the sign-in.
    exclude = ("sealed_verifier", "sealed_code", "authorization_url")
    list_display = ("integration", "user", "by", "state", "message", "created_at")
    list_filter = ("state",)
    list_select_related = ("integration", "user", "by")
    search_fields = ("integration__slug", "by__username", "message")


@admin.register(Definition)
class DefinitionAdmin(ReadOnlyAdmin):
    list_display = ("integration", "name", "standing", "approved_by", "approved_at", "changed_at")
    list_filter = ("standing",)
    list_select_related = ("integration", "approved_by")
    search_fields = ("integration__slug", "name")


@admin.register(Sync)
class SyncAdmin(ReadOnlyAdmin):
    list_display = ("integration", "synced_at", "cause", "reason", "unreadable")
    list_filter = ("cause", "reason")
    list_select_related = ("integration",)
    search_fields = ("integration__slug",)


@admin.register(ServerProposal)
class ServerProposalAdmin(ReadOnlyAdmin):
    list_display = ("name", "endpoint", "user", "group", "state", "created_at")
    list_filter = ("state",)
    list_select_related = ("user", "group")
    search_fields = ("name", "endpoint", "user__username", "group__name")
    exclude = ("actor", "key")  # may be deleted; kinds, prefix and name are copied


@admin.register(RuntimeCapability)
class RuntimeCapabilityAdmin(ReadOnlyAdmin):
    list_display = ("full_name", "group", "owner", "key", "state", "expires_at", "changed_at")
    list_filter = ("state",)
    list_select_related = ("group", "owner", "key")
    search_fields = ("full_name", "owner__username", "group__name")


@admin.register(ManifestFile)
class ManifestFileAdmin(ReadOnlyAdmin):
    list_display = ("path", "capability", "problems", "changed_at")
    list_filter = (("problems", EmptyFieldListFilter), ("capability", EmptyFieldListFilter))
    list_select_related = ("capability",)
    search_fields = ("path", "problems", "capability__full_name")


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
        find_rows = {"waiting": pending_embeddings, "failed": failed_embeddings}.get(
            self.value() or ""
        )
        return queryset.filter(pk__in=find_rows().values("pk")) if find_rows else queryset


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


@admin.register(IndexVersion)
class IndexVersionAdmin(ReadOnlyAdmin):
    list_display = ("pk", "number")
    ordering = ("pk",)
