"""URLs of the source pages."""

from django.urls import path

from marketplace.sources import source_pages

_SOURCE = "marketplace/sources/<slug:slug>/"

urlpatterns = [
    path("marketplace/sources/", source_pages.sources, name="sources"),
    path("marketplace/add-source/", source_pages.add, name="source-add"),
    path(_SOURCE, source_pages.source, name="source"),
    path(f"{_SOURCE}refresh/", source_pages.refresh, name="source-refresh"),
    path(f"{_SOURCE}remove/", source_pages.remove, name="source-remove"),
]
