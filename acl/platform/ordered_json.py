"""JSON field that keeps the order of keys, for definitions of tools.

`jsonb` sorts the keys of an object by length, and then by bytes. The order of a tool's parameters
is its author's: models and people read it, and it is part of the embedded text.
"""

from typing import Any

from django.db import models
from psycopg.types.json import Json, Jsonb

from acl.platform.stored_json import StoredJSONField


class OrderedJSONField(StoredJSONField):
    """A `StoredJSONField` in a column of type `json`, which keeps the text as it was written.

    `json` has no equality: it allows no DISTINCT, no GROUP BY and no comparison. It also takes
    texts that `jsonb` refuses, so each column has a constraint by `is_storable_as_jsonb`.
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def cast_db_type(self, connection: Any) -> str:
        return "json"

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        # As text, since psycopg parses `json` itself, and fails for all rows where one is too deep.
        return f"{sql}::text", params

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        adapted = super().get_db_prep_value(value, connection, prepared)
        # A `jsonb` parameter would be sorted before it is assigned.
        return Json(adapted.obj, dumps=adapted.dumps) if isinstance(adapted, Jsonb) else adapted

    def deconstruct(self) -> Any:
        """Deconstruct as itself: the column differs from that of Django's JSONField."""
        name, _, args, kwargs = super().deconstruct()
        return name, f"{__name__}.{type(self).__qualname__}", args, kwargs


class AsJsonb(models.Func):
    """Cast to `jsonb`, which checks the text."""

    template = "(%(expressions)s)::jsonb"
    output_field = models.JSONField()


def is_storable_as_jsonb(column: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that refuses what `jsonb` refuses, such as NUL and lone surrogates."""
    return models.CheckConstraint(
        condition=models.Q(models.lookups.IsNull(AsJsonb(models.F(column)), False))
        | models.Q(**{f"{column}__isnull": True}),
        name=name,
    )
