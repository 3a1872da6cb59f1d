"""The API of the marketplace, below api/v1/."""

from django.urls import URLPattern, URLResolver, path

from marketplace.api import (
    confirmation,
    installation_steps,
    installations,
    listing_reviews,
    listings,
    reviews,
    sources,
)

_ONE = "installations/<uuid:pk>"

urlpatterns: list[URLPattern | URLResolver] = [
    path("listings", listings.ListingsView.as_view(), name="api-listings"),
    path("listings/<slug:slug>", listings.ListingView.as_view(), name="api-listing"),
    path(
        "listings/<slug:slug>/approve",
        listing_reviews.ApproveListingView.as_view(),
        name="api-listing-approve",
    ),
    path(
        "listings/<slug:slug>/hide",
        listing_reviews.HideListingView.as_view(),
        name="api-listing-hide",
    ),
    path(
        "installations",
        installations.InstallationsView.as_view(),
        name="api-installations",
    ),
    path(
        "installations/preview",
        installations.PreviewView.as_view(),
        name="api-installation-preview",
    ),
    path(_ONE, installations.InstallationView.as_view(), name="api-installation"),
    *(
        path(f"{_ONE}/{step}", view.as_view(), name=f"api-installation-{step}")
        for step, view in (
            ("events", installations.EventsView),
            ("cancel", installation_steps.CancelView),
            ("retry", installation_steps.RetryView),
            ("approve", installation_steps.ApproveView),
            ("confirm", installation_steps.ConfirmView),
            ("update", installation_steps.UpdateView),
            ("roll-back", installation_steps.RollBackView),
            ("repair", installation_steps.RepairView),
        )
    ),
    path(
        "integrations/<slug:slug>/confirm",
        confirmation.ConfirmView.as_view(),
        name="api-integration-confirm",
    ),
    path("integrations/<slug:slug>/review", reviews.ReviewView.as_view(), name="api-review"),
    path(
        "integrations/<slug:slug>/review/approve",
        reviews.ApproveView.as_view(),
        name="api-review-approve",
    ),
    path(
        "integrations/<slug:slug>/review/reject",
        reviews.RejectView.as_view(),
        name="api-review-reject",
    ),
    path("sources", sources.SourcesView.as_view(), name="api-sources"),
    path("sources/<slug:slug>", sources.SourceView.as_view(), name="api-source"),
    path(
        "sources/<slug:slug>/refresh",
        sources.RefreshSourceView.as_view(),
        name="api-source-refresh",
    ),
]
