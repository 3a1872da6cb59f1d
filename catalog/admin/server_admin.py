"""Read-only admin of servers' health, secrets and OAuth state, without secret values."""

from django.contrib import admin
from django.contrib.admin import EmptyFieldListFilter

from acl.admin.admin_base import ReadOnlyAdmin
from catalog.models import (
    HealthCheck,
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
    Secret,
)


@admin.register(HealthCheck)
class HealthCheckAdmin(ReadOnlyAdmin):
    list_display = ("integration", "checked_at", "reason", "milliseconds", "tools")
    list_filter = ("reason", ("reason", EmptyFieldListFilter))
    list_select_related = ("integration",)
    search_fields = ("integration__slug", "reason", "last_words")


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
