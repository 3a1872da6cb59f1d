"""Where the pages about sources live."""

from django.urls import path

from marketplace.views import sources

_ONE = "marketplace/sources/<slug:slug>/"

urlpatterns = [
    path("marketplace/sources/", sources.sources, name="sources"),
    path("marketplace/add-source/", sources.add, name="source-add"),
    path(_ONE, sources.source, name="source"),
    path(f"{_ONE}refresh/", sources.refresh, name="source-refresh"),
    path(f"{_ONE}remove/", sources.remove, name="source-remove"),
]
