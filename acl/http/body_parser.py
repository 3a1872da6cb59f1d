"""Request bodies: bounded JSON, without values that the database could not store."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

from acl.platform.strict_json import DEEPEST, StrictJSONError, parse_json

__all__ = ["DEEPEST", "BodyTooLarge", "BoundedJSONParser"]


class BodyTooLarge(APIException):
    """Body larger than the deployment accepts."""

    status_code = 413
    default_code = "too_large"

    def __init__(self) -> None:
        super().__init__(f"The body is larger than {settings.PEGBOARD_MAX_BODY_BYTES} bytes.")


class BoundedJSONParser(BaseParser):
    """Parses a request body by the rules of `acl.platform.strict_json`, bounded in size."""

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
        try:
            return parse_json(body)
        except StrictJSONError as problem:
            raise ParseError(f"The body is not valid JSON: {problem}.") from None
