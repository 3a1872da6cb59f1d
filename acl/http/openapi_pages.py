"""The OpenAPI schema and its pages, open to everyone because they contain no data."""

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation


class SchemaView(SpectacularAPIView):
    """YAML, or JSON by `Accept` or `?format=json`."""

    content_negotiation_class = DefaultContentNegotiation


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI with its script in a request of its own, as our Content-Security-Policy asks."""

    content_negotiation_class = DefaultContentNegotiation
    template_name = "api/docs.html"
