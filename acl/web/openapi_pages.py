"""The OpenAPI schema and its pages, open to everyone because they contain no data.

Making the schema takes a fifth of a second of CPU time, and anybody may ask for it. A process makes
each form of it once: it is the same until the process ends.
"""

from functools import lru_cache
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class SchemaView(SpectacularAPIView):
    """YAML, or JSON by `Accept` or `?format=json`."""

    content_negotiation_class = DefaultContentNegotiation

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the schema in the language of `?lang=` or of the request."""
        if request.GET.get("version"):  # a word of theirs, which it would contain
            response: HttpResponseBase = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
            return response
        language = request.GET.get("lang", "")
        if not translation.check_for_language(language):
            language = translation.get_language() or ""
        renderer: BaseRenderer = request.accepted_renderer
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            _rendered(renderer.media_type, language),
            content_type=f"{renderer.media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="Pegboard.{renderer.format}"'},
        )


@lru_cache(maxsize=16)
def _rendered(media_type: str, language: str) -> bytes:
    [renderer] = (
        renderer_class
        for renderer_class in SchemaView.renderer_classes
        if renderer_class.media_type == media_type
    )
    with translation.override(language):
        schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
        content = renderer().render(schema, media_type, {})
    return content if isinstance(content, bytes) else str(content).encode()


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI with its script in a request of its own, as our Content-Security-Policy asks."""

    content_negotiation_class = DefaultContentNegotiation
    template_name = "api/docs.html"
