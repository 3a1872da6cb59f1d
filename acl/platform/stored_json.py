"""JSON field that tolerates unreadable rows, so that one does not break a whole list."""

import json
import math
from typing import Any

import structlog
from django.db import models
from django.db.models.expressions import Col
from psycopg.types.json import Json, Jsonb

from acl.platform.strict_json import check_depth

UNREADABLE = "unreadable"

# Python reads deeper ones since 3.12, which nothing that goes through them would stand.
_DEEPEST = 500
log = structlog.get_logger(__name__)


class StoredJSONField(models.JSONField):
    """A JSONField whose unreadable values are replaced, by what the column has by default.

    Postgres takes numbers of thousands of digits and any depth, from whoever writes past the
    application; Python raises on them, and would for the whole list. An object says why in
    `unreadable`.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        try:
            if isinstance(value, str) and isinstance(expression, Col):
                check_depth(value, _DEEPEST)
                parsed = json.loads(value, parse_float=_read_float)
            else:
                parsed = super().from_db_value(value, expression, connection)
            is_column = isinstance(expression, Col) and value is not None
            return self._of_its_kind(parsed) if is_column else parsed
        except (ValueError, RecursionError) as problem:
            return self._instead(str(problem)[:200])

    def deconstruct(self) -> Any:
        """Deconstruct as Django's JSONField: the column is the same."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def _of_its_kind(self, value: Any) -> Any:
        kind = list if self.default is list else dict
        if isinstance(value, kind) or (value is None and self.null):
            return value
        raise ValueError(f"it is not {'object' if kind is dict else 'list'}")

    def _instead(self, problem: str) -> Any:
        log.error("a stored value cannot be read", column=str(self), problem=problem)
        if self.default is list:
            return []
        return {} if self.null else {UNREADABLE: f"This value cannot be displayed: {problem}."}


def _read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite")
    return number


# JSON field that keeps the order of keys, for definitions of tools.
# `jsonb` sorts the keys of an object by length, and then by bytes. The order of a tool's
# parameters is its author's: models and people read it, and it is part of the embedded text.


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
