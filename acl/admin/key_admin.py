"""Admin of API keys, through the service. The key's text is shown once."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from acl.admin.admin_base import AuditedAdmin, ReadOnlyAdmin
from acl.keys.lifecycle import KeyRefused, check_new_key, create_key, revoke_key, rotate_key
from acl.models import (
    ApiKey,
    AuthorizationCode,
    ClientConnection,
    ClientDocument,
    ClientToken,
    RegisteredClient,
)
from acl.rights.delegation import DelegationRefused


class ApiKeyForm(forms.ModelForm):
    """Form for a new key, which needs someone to act for."""

    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        initial=[ApiKey.Scope.SELECT],
    )

    class Meta:
        model = ApiKey
        fields = (
            "name", "groups", "all_groups", "scopes", "acts_for_users", "owner", "expires_at",
        )  # fmt: skip

    by: User  # who fills in the form; the admin's class sets it

    def clean(self) -> dict[str, Any]:
        """Show refusals of the service beside their fields."""
        data = super().clean() or {}
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: dict[str, Any]) -> None:
        power = {name: value for name, value in data.items() if name != "name"}
        try:
            check_new_key(by=self.by, **power)
        except DelegationRefused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, str(refused))
        except KeyRefused as refused:
            self.add_error(None, str(refused))


MADE = (
    "prefix", "rank", "created_by", "made_with", "created_at", "last_used_at", "revoked_at",
)  # fmt: skip


@admin.register(ApiKey)
class ApiKeyAdmin(AuditedAdmin):
    form = ApiKeyForm
    list_display = ("name", "prefix", "scope_of_groups", "owner", "acts_for_users", "ends")
    list_filter = ("groups", "all_groups", "acts_for_users", "revoked_at", "expires_at")
    list_select_related = ("owner",)
    search_fields = ("name", "prefix", "groups__name", "owner__username")
    autocomplete_fields = ("groups", "owner")
    actions = ("replace", "withdraw")

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return ApiKeyForm.Meta.fields + (MADE if obj else ())

    def get_form(self, request: HttpRequest, obj: ApiKey | None = None, **kwargs: Any) -> Any:
        """Pass the current user to the form."""
        form = super().get_form(request, obj, **kwargs)
        form.by = cast(User, request.user)
        return form

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """Prefetch the groups for the list. Connected clients have a page of their own."""
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        return keys.filter(connection=None).prefetch_related("groups")

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Allow the list's actions, but no changes: a key is replaced instead."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Create the key through the service, which writes the audit entry."""
        data = {name: form.cleaned_data[name] for name in ApiKeyForm.Meta.fields}
        key, raw = create_key(by=cast(User, request.user), **data)
        obj.pk, obj.prefix, obj.digest = key.pk, key.prefix, key.digest
        request.new_keys = [(key, raw)]  # type: ignore[attr-defined]

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Keep only Django's own history: the service has written the audit entry."""
        return super(AuditedAdmin, self).log_addition(request, obj, message)

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._show_once(request, request.new_keys)  # type: ignore[attr-defined]

    @admin.action(description="Replace: create new keys; the old ones work for another day")
    def replace(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse:
        try:
            with transaction.atomic():
                keys = [
                    rotate_key(by=cast(User, request.user), key=key)
                    for key in chosen.filter(revoked_at=None)
                ]
        except DelegationRefused as refused:
            messages.error(request, str(refused))
            return HttpResponseRedirect(request.get_full_path())
        return self._show_once(request, keys)

    @admin.action(description="Revoke: refuse requests from now on")
    def withdraw(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        for key in chosen.filter(revoked_at=None):
            revoke_key(by=cast(User, request.user), key=key)
        messages.success(request, _("The keys were revoked."))

    @admin.display(description="ends", ordering="expires_at")
    def ends(self, key: ApiKey) -> str:
        if key.revoked_at:
            return _("revoked %(day)s") % {"day": f"{key.revoked_at:%Y-%m-%d}"}
        return f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else _("never")

    def _show_once(self, request: HttpRequest, keys: list[tuple[ApiKey, str]]) -> HttpResponse:
        """Show the key's text in this response only, not in a message, cookie or session."""
        context = {**self.admin_site.each_context(request), "title": _("New API key"), "keys": keys}
        response = TemplateResponse(request, "admin/acl/apikey/shown_once.html", context)
        patch_cache_control(response, no_store=True)
        return response


@admin.register(RegisteredClient)
class RegisteredClientAdmin(ReadOnlyAdmin):
    """Read-only admin of registered clients. Connections end on the page of assistants."""

    list_display = ("name", "client_id", "redirect_uris", "created_at")
    search_fields = ("name", "client_id")


@admin.register(ClientDocument)
class ClientDocumentAdmin(ReadOnlyAdmin):
    """Read-only admin of documents by which clients describe themselves."""

    list_display = ("address", "state", "problem", "asked_at", "kept_until")
    search_fields = ("address",)


@admin.register(ClientConnection)
class ClientConnectionAdmin(ReadOnlyAdmin):
    """Read-only admin of connections."""

    list_display = ("client", "key", "resource")
    list_select_related = ("client", "key")
    search_fields = ("client__name", "key__owner__username")


@admin.register(AuthorizationCode)
class AuthorizationCodeAdmin(ReadOnlyAdmin):
    """Read-only admin of codes, of which only digests are kept."""

    list_display = ("client", "person", "resource", "expires_at", "connection")
    list_select_related = ("client", "person", "connection__client")
    search_fields = ("client__name", "person__username")


@admin.register(ClientToken)
class ClientTokenAdmin(ReadOnlyAdmin):
    """Read-only admin of tokens, of which only digests are kept."""

    list_display = ("connection", "kind", "expires_at", "used_at")
    list_select_related = ("connection__client",)
    search_fields = ("connection__client__name",)
