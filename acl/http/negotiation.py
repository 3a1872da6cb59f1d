"""The API speaks JSON only, whatever a client says it would like best."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches


class AlwaysJSON(BaseContentNegotiation):
    """Takes the first renderer; problems, too, can then always be told."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser for the body's content type, if there is one."""
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
        """The first, and its media type."""
        first = next(iter(renderers))
        return first, str(first.media_type)
