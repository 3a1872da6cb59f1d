"""JSON field that tolerates unreadable rows, so that one does not break a whole list."""

import json
import math
from typing import Any

import structlog
from django.db import models
from django.db.models.expressions import Col

UNREADABLE = "unreadable"

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
                read = json.loads(value, parse_float=_read_float)
            else:
                read = super().from_db_value(value, expression, connection)
            is_column = isinstance(expression, Col) and value is not None
            return self._of_its_kind(read) if is_column else read
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
