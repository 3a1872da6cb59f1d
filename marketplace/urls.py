"""The API of the marketplace, below api/v1/."""

from django.urls import URLPattern, URLResolver, path

from marketplace.api import sources

urlpatterns: list[URLPattern | URLResolver] = [
    path("sources", sources.SourcesView.as_view(), name="api-sources"),
    path("sources/<slug:slug>", sources.SourceView.as_view(), name="api-source"),
    path(
        "sources/<slug:slug>/refresh",
        sources.RefreshSourceView.as_view(),
        name="api-source-refresh",
    ),
]
