"""The API of the marketplace, below api/v1/."""

from django.urls import URLPattern, URLResolver, path

from catalog.runtime import tool_settings_api
from marketplace.additions import api
from marketplace.installs.api import installations
from marketplace.integrations.api import integration_settings, network, reviews
from marketplace.listings import api as listing_api
from marketplace.sources import api as source_api

_ONE = "installations/<uuid:pk>"

urlpatterns: list[URLPattern | URLResolver] = [
    path("listings", listing_api.ListingsView.as_view(), name="api-listings"),
    path("listings/<slug:slug>", listing_api.ListingView.as_view(), name="api-listing"),
    path(
        "listings/<slug:slug>/approve",
        listing_api.ApproveListingView.as_view(),
        name="api-listing-approve",
    ),
    path(
        "listings/<slug:slug>/hide",
        listing_api.HideListingView.as_view(),
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
            ("cancel", installations.CancelView),
            ("retry", installations.RetryView),
            ("approve", installations.ApproveToolsView),
            ("confirm", installations.ConfirmView),
            ("update", installations.UpdateView),
            ("roll-back", installations.RollBackView),
            ("repair", installations.RepairView),
        )
    ),
    path(
        "integrations/<slug:slug>/confirm",
        reviews.ConfirmImportView.as_view(),
        name="api-integration-confirm",
    ),
    path(
        "integrations/<slug:slug>/network",
        network.NetworkView.as_view(),
        name="api-integration-network",
    ),
    path(
        "integrations/<slug:slug>/call-limit",
        integration_settings.CallLimitView.as_view(),
        name="api-integration-call-limit",
    ),
    path(
        "integrations/<slug:slug>/requestable",
        integration_settings.RequestableView.as_view(),
        name="api-integration-requestable",
    ),
    path(
        "integrations/<slug:slug>/application-executes",
        integration_settings.ApplicationExecutesView.as_view(),
        name="api-integration-application-executes",
    ),
    path(
        "integrations/<slug:slug>/tools/<str:full_name>",
        tool_settings_api.ToolSettingsView.as_view(),
        name="api-tool-settings",
    ),
    path("integrations/<slug:slug>/review", reviews.ReviewView.as_view(), name="api-review"),
    path(
        "integrations/<slug:slug>/review/approve",
        reviews.ApproveDefinitionView.as_view(),
        name="api-review-approve",
    ),
    path(
        "integrations/<slug:slug>/review/reject",
        reviews.RejectDefinitionView.as_view(),
        name="api-review-reject",
    ),
    path("allowed-hosts", network.AllowedHostsView.as_view(), name="api-allowed-hosts"),
    path("own-servers", integration_settings.OwnServersView.as_view(), name="api-own-servers"),
    path("additions", api.AdditionsView.as_view(), name="api-additions"),
    path("additions/<uuid:pk>", api.AdditionView.as_view(), name="api-addition"),
    path("sources", source_api.SourcesView.as_view(), name="api-sources"),
    path("sources/<slug:slug>", source_api.SourceView.as_view(), name="api-source"),
    path(
        "sources/<slug:slug>/refresh",
        source_api.RefreshSourceView.as_view(),
        name="api-source-refresh",
    ),
]
