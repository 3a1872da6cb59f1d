"""The API of the marketplace, below api/v1/."""

from django.urls import URLPattern, URLResolver, path

from catalog.runtime import tool_settings_api
from marketplace.additions import api as addition_api
from marketplace.installs import api as install_api
from marketplace.integrations import review_api, settings_api
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
        install_api.InstallationsView.as_view(),
        name="api-installations",
    ),
    path(
        "installations/preview",
        install_api.PreviewView.as_view(),
        name="api-installation-preview",
    ),
    path(_ONE, install_api.InstallationView.as_view(), name="api-installation"),
    *(
        path(f"{_ONE}/{step}", view.as_view(), name=f"api-installation-{step}")
        for step, view in (
            ("events", install_api.EventsView),
            ("cancel", install_api.CancelView),
            ("retry", install_api.RetryView),
            ("approve", install_api.ApproveToolsView),
            ("confirm", install_api.ConfirmView),
            ("update", install_api.UpdateView),
            ("roll-back", install_api.RollBackView),
            ("repair", install_api.RepairView),
        )
    ),
    path(
        "integrations/<slug:slug>/confirm",
        review_api.ConfirmImportView.as_view(),
        name="api-integration-confirm",
    ),
    path(
        "integrations/<slug:slug>/network",
        settings_api.NetworkView.as_view(),
        name="api-integration-network",
    ),
    path(
        "integrations/<slug:slug>/call-limit",
        settings_api.CallLimitView.as_view(),
        name="api-integration-call-limit",
    ),
    path(
        "integrations/<slug:slug>/requestable",
        settings_api.RequestableView.as_view(),
        name="api-integration-requestable",
    ),
    path(
        "integrations/<slug:slug>/application-executes",
        settings_api.ApplicationExecutesView.as_view(),
        name="api-integration-application-executes",
    ),
    path(
        "integrations/<slug:slug>/tools/<str:full_name>",
        tool_settings_api.ToolSettingsView.as_view(),
        name="api-tool-settings",
    ),
    path("integrations/<slug:slug>/review", review_api.ReviewView.as_view(), name="api-review"),
    path(
        "integrations/<slug:slug>/review/approve",
        review_api.ApproveDefinitionView.as_view(),
        name="api-review-approve",
    ),
    path(
        "integrations/<slug:slug>/review/reject",
        review_api.RejectDefinitionView.as_view(),
        name="api-review-reject",
    ),
    path("allowed-hosts", settings_api.AllowedHostsView.as_view(), name="api-allowed-hosts"),
    path("own-servers", settings_api.OwnServersView.as_view(), name="api-own-servers"),
    path("additions", addition_api.AdditionsView.as_view(), name="api-additions"),
    path("additions/<uuid:pk>", addition_api.AdditionView.as_view(), name="api-addition"),
    path("sources", source_api.SourcesView.as_view(), name="api-sources"),
    path("sources/<slug:slug>", source_api.SourceView.as_view(), name="api-source"),
    path(
        "sources/<slug:slug>/refresh",
        source_api.RefreshSourceView.as_view(),
        name="api-source-refresh",
    ),
]
