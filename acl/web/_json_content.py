"""JSON in and out: bounded request bodies, and JSON answers whatever the client accepts."""

from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches

from acl.platform.strict_json import StrictJSONError, parse_json


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


class AlwaysJSON(BaseContentNegotiation):
    """Content negotiation that always selects JSON, so that errors can be rendered, too."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Return the parser for the body's content type, if any."""
        for parser in parsers:
            if media_type_matches(str(parser.media_type), str(request.content_type)):
                return parser
        return None

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer and its media type."""
        first = next(iter(renderers))
        return first, str(first.media_type)
