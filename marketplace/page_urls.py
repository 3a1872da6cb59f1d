"""Where the pages of the marketplace live."""

from django.urls import URLPattern, URLResolver, include, path

from marketplace.views import browse

urlpatterns: list[URLPattern | URLResolver] = [
    path("marketplace/", browse.browse, name="marketplace"),
    path("", include("marketplace.integration_urls")),
]
