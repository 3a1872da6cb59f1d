"""Base classes of the admin."""

from collections.abc import Iterable
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from acl.audit.recorder import record


class ShownColumnsAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Admin whose lists filter by no column that its pages do not show."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Refuse hidden columns: how many rows match would tell them letter by letter."""
        # A filter that reads its own parameter takes it off before any lookup is made of it.
        if lookup in {getattr(entry, "parameter_name", None) for entry in self.list_filter}:
            return True
        name = lookup.partition("__")[0]
        columns = {field.name for field in self.model._meta.fields}
        hidden = set(self.exclude or ())
        if self.fields:
            filters = {column for column in self.list_filter if isinstance(column, str)}
            visible = {*self.fields, *self.list_display, *filters, self.model._meta.pk.name}
            hidden |= columns - visible
        if name in hidden:
            return False
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed


class ReadOnlyAdmin(ShownColumnsAdmin):
    """Read-only admin."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class AuditedAdmin(ShownColumnsAdmin):
    """Admin with an audit entry for every change, above all of rights and people."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, "add", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, "change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet) -> Any:
        for obj in queryset:
            self._record(request, "delete", obj, [])
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, verb: str, obj: Model, message: Any) -> None:
        record(
            by=cast(User, request.user),
            action=f"{obj._meta.model_name}.{verb}",
            target=str(obj),
            details={"changes": _plain(message)},
        )


def _plain(message: Any) -> Any:
    """Convert the admin's change message, whose field names are lazy, to plain text."""
    if isinstance(message, dict):
        return {str(key): _plain(value) for key, value in message.items()}
    if isinstance(message, Iterable) and not isinstance(message, str):
        return [_plain(value) for value in message]
    return str(message)
