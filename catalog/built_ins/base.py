"""Parts common to built-in tools: the owner of rows, failures, and the reader in a cell."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any, Literal, TypeVar

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.dateparse import parse_date

from acl.platform import strict_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.files import RefusedError
from catalog.models import Memo, Todo
from catalog.servers.client.reader_process import MB, ReaderBounds, read_apart

# Base of built-in tools: the owner of a call's rows, failures, and digits of answers.


class ToolError(Exception):
    """The tool cannot do it. The text is the tool's answer, for a model and for people."""


@dataclass(frozen=True, slots=True)
class RowOwner:
    """The person whose rows a call may see; None if somebody acts for them."""

    user_id: int | None

    def require(self) -> int:
        """Return the person's id; ToolError if nobody calls for themselves."""
        if self.user_id is None:
            raise ToolError("This is personal: only the person can use it, nobody on their behalf.")
        return self.user_id


Function = Callable[[JSONObject, RowOwner], str | JSONObject]


class Toolbox(dict[str, Function]):
    """The functions of one integration, by action; "" for a tool that is named like it."""

    def add(self, action: str) -> Callable[[Function], Function]:
        """Return a decorator that adds a function."""

        def add_function(function: Function) -> Function:
            self[action] = function
            return function

        return add_function


def plain_number(number: Decimal) -> str:
    """Return the digits without an exponent and without zeros at the end."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


# Rows that tools keep for one person: searched by words, and bounded in number.

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


# Questions to the reader in a cell: what could keep a process busy runs in one that ends.

_BOUNDS = ReaderBounds(seconds=10, cpu_seconds=3, memory_bytes=512 * MB, answer_bytes=4 * MB)
_DEEPEST = 8


def ask_reader(what: Literal["pattern", "page"], document: bytes, **options: Any) -> JSONObject:
    """Return the reader's answer; ToolError beyond its limits or if it refuses."""
    answer = BytesIO()
    try:
        read_apart(document, options, what=what, bounds=_BOUNDS, into=answer)
        value = strict_json.parse_json(
            answer.getvalue().decode(), max_depth=_DEEPEST, any_text=True
        )
    except RefusedError as refused:
        raise ToolError(f"It {refused.reason}.") from None
    except ValueError:
        raise ToolError("It could not be read.") from None
    if not isinstance(value, dict) or "refused" in value:
        reason = value["refused"] if isinstance(value, dict) else "It could not be read."
        raise ToolError(str(reason)[:300])
    return value
