"""Base classes of the admin."""

from collections.abc import Iterable
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import F, Func, Model, QuerySet, TextField, Value
from django.http import HttpRequest, HttpResponse
from django.utils.text import smart_split
from unfold.admin import ModelAdmin

from acl.audit.recorder import record
from acl.web.frame import extensions

# An address up to its host, which is all of it that a search finds: the rest may be a secret.
_ADDRESS = r"://(?:[^/@\s?#]*@)*([^/@\s?#]*)\S*"


class ShownColumnsAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Admin whose lists filter by no column that its pages do not show, and whose pages show stored
    addresses without what makes them secrets. Forms keep their fields as they are."""

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list, its rows worded."""
        changes = super().get_changelist_instance(request)
        for row in changes.result_list:
            _word_columns(row)
        return changes

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Render the page of a row, worded. Its form has read its fields already."""
        forms = [form for of in context["inline_admin_formsets"] for form in of.formset.forms]
        for row in [context["original"], *(form.instance for form in forms)]:
            if row is not None:
                _word_columns(row)
        context["subtitle"] = str(context["original"] or "") or None
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        """Find rows by what is shown of them: of an address, its host."""
        rows, may_repeat = super().get_search_results(request, queryset, search_term)
        names = [F(name.lstrip("^=@")) for name in self.get_search_fields(request)]
        if not names or not search_term:
            return rows, may_repeat
        texts = Func(Value(" "), *names, function="concat_ws", output_field=TextField())
        address, host, everywhere = (Value(part) for part in (_ADDRESS, r"://\1", "g"))
        parts = (texts, address, host, everywhere)
        worded = Func(*parts, function="regexp_replace", output_field=TextField())
        for part in smart_split(search_term):
            rows = rows.alias(worded=worded).filter(worded__icontains=part.strip("\"'"))
        return rows, may_repeat

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


def _word_columns(row: Model) -> None:
    """Word the texts of a row that is shown, and never saved."""
    for field in row._meta.concrete_fields:
        value = vars(row).get(field.attname)
        if isinstance(value, str | list | tuple | dict):
            setattr(row, field.attname, _worded(value))


def _worded(value: Any) -> Any:
    if isinstance(value, str):
        return extensions.word(value)
    if isinstance(value, dict):
        return {name: _worded(part) for name, part in value.items()}
    return [_worded(part) for part in value] if isinstance(value, list | tuple) else value


def _plain(message: Any) -> Any:
    """Convert the admin's change message, whose field names are lazy, to plain text."""
    if isinstance(message, dict):
        return {str(key): _plain(value) for key, value in message.items()}
    if isinstance(message, Iterable) and not isinstance(message, str):
        return [_plain(value) for value in message]
    return str(message)
