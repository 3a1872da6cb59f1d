"""Where the pages of the marketplace live."""

from django.urls import URLPattern, URLResolver, include, path

from marketplace.views import browse, find, install, listing_review, progress, proposals

urlpatterns: list[URLPattern | URLResolver] = [
    path("find/", find.find, name="find"),
    path("marketplace/", browse.browse, name="marketplace"),
    path("marketplace/listings/<slug:slug>/", browse.listing, name="listing"),
    path("marketplace/listings/<slug:slug>/install/", install.install, name="listing-install"),
    path("marketplace/listings/<slug:slug>/review/", listing_review.decide, name="listing-review"),
    path("marketplace/proposals/", proposals.proposals, name="proposals"),
    path("marketplace/proposals/<int:pk>/", proposals.answer, name="proposal"),
    path("marketplace/receivers/", install.receivers, name="install-receivers"),
    path("marketplace/installations/<uuid:public_id>/", progress.installation, name="installation"),
    path(
        "marketplace/installations/<uuid:public_id>/confirm/",
        progress.confirm,
        name="installation-confirm",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/approve/",
        progress.approve,
        name="installation-approve",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/retry/",
        progress.retry,
        name="installation-retry",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/cancel/",
        progress.cancel,
        name="installation-cancel",
    ),
    path("", include("marketplace.source_urls")),
    path("", include("marketplace.integration_urls")),
]
