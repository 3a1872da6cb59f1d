"""Content negotiation: JSON only, whatever the client accepts."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches


class AlwaysJSON(BaseContentNegotiation):
    """Selects the first renderer, so that errors can always be rendered."""

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
