"""Reads JSON within bounds, and nothing that the database or a model could not take."""

import json
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

DEEPEST = 32
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BodyTooLarge(APIException):
    """The body has more bytes than the deployment reads."""

    status_code = 413
    default_code = "too_large"

    def __init__(self) -> None:
        super().__init__(f"The body is larger than {settings.PEGBOARD_MAX_BODY_BYTES} bytes.")


class BoundedJSONParser(BaseParser):
    """JSON in UTF-8, bounded in size and depth, without NaN, NUL characters and half surrogates."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read(settings.PEGBOARD_MAX_BODY_BYTES + 1)
        if len(body) > settings.PEGBOARD_MAX_BODY_BYTES:
            raise BodyTooLarge
        return parse_json(body)


def parse_json(body: bytes) -> Any:
    """The value in `body`; raises ParseError saying what is wrong with it."""
    try:
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise ParseError(f"The JSON is nested deeper than {DEEPEST} levels.") from None
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    except ValueError as problem:
        raise ParseError(f"The body is not JSON: {str(problem)[:120]}.") from None
    _check(value)
    return value


def _check(value: Any) -> None:
    """Walk without recursion: depth and every text."""
    waiting = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > DEEPEST:
            raise ParseError(f"The JSON is nested deeper than {DEEPEST} levels.")
        if isinstance(inner, str) and _UNSTORABLE.search(inner):
            raise ParseError("A text has a NUL character or half a surrogate pair.")
        if isinstance(inner, dict):
            waiting.extend((key, depth) for key in inner)
            waiting.extend((item, depth + 1) for item in inner.values())
        elif isinstance(inner, list):
            waiting.extend((item, depth + 1) for item in inner)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
