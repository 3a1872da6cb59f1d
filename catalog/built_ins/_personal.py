"""Rows that tools keep for one person: searched by words, and bounded in number."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, TypeVar

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.dateparse import parse_date

from catalog.built_ins.base import ToolError
from catalog.models import Memo, Todo

MOST_ROWS = 2_000
_MOST_WORDS = 12
_TRIES = 3
Row = TypeVar("Row", Memo, Todo)


def read_day(text: Any) -> date | None:
    """Return a day; None if none is given, ToolError for a text that is no day."""
    if not text:
        return None
    try:
        day = parse_date(str(text))
    except ValueError:
        day = None
    if day is None:
        raise ToolError(f"'{str(text)[:40]}' is no day. Write it as 2026-03-31.")
    return day


def search_words(rows: QuerySet[Row], text: str, *columns: str) -> QuerySet[Row]:
    """Return the rows with any of the words, the best first; beginnings of words count."""
    words = re.findall(r"\w+", text)[:_MOST_WORDS]
    if not words:
        return rows.none()
    vector = SearchVector(*columns, config="simple")
    query = SearchQuery(
        " | ".join(f"{word}:*" for word in words), search_type="raw", config="simple"
    )
    ranked = rows.annotate(words=vector, rank=SearchRank(vector, query)).filter(words=query)
    return ranked.order_by(F("rank").desc(), "-created_at", "-pk")


def save_new(model: type[Row], *, user_id: int, **values: Any) -> Row:
    """Store a new row; ToolError if the person has as many as there may be."""
    if model.objects.filter(user_id=user_id).count() >= MOST_ROWS:
        raise ToolError(f"There are {MOST_ROWS:,} entries, and no more fit. Delete some first.")
    for attempt in range(_TRIES):
        try:
            with transaction.atomic():
                return model.objects.create(user_id=user_id, **values)
        except IntegrityError:  # the key exists; anything else fails again
            if attempt == _TRIES - 1:
                raise
    raise AssertionError  # the loop has returned or raised


def delete_keys(model: type[Row], *, user_id: int, keys: Sequence[str]) -> int:
    """Delete the person's rows of these keys; return how many there were."""
    number, _ = model.objects.filter(user_id=user_id, key__in=keys).delete()
    return number
