"""Where the pages about sources live."""

from django.urls import path

from marketplace.sources import source_pages

_ONE = "marketplace/sources/<slug:slug>/"

urlpatterns = [
    path("marketplace/sources/", source_pages.sources, name="sources"),
    path("marketplace/add-source/", source_pages.add, name="source-add"),
    path(_ONE, source_pages.source, name="source"),
    path(f"{_ONE}refresh/", source_pages.refresh, name="source-refresh"),
    path(f"{_ONE}remove/", source_pages.remove, name="source-remove"),
]
