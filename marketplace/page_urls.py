"""URLs of the marketplace pages."""

from django.urls import URLPattern, URLResolver, include, path

from marketplace.additions import pages
from marketplace.installs.pages import progress, start
from marketplace.listings import pages as icon_page
from marketplace.listings import pages as listing_pages
from marketplace.listings import palette_pages
from marketplace.notifications import pages as channel_pages
from marketplace.operate.checkup import pages as checkup_pages
from marketplace.sources import pages as source_pages
from marketplace.today import pages as today_pages

_SOURCE = "marketplace/sources/<slug:slug>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("health/", checkup_pages.health, name="health"),
    path("find/", palette_pages.find, name="find"),
    path("icons/<uuid:public_id>.png", icon_page.icon, name="icon"),
    path("marketplace/", listing_pages.browse, name="marketplace"),
    path("marketplace/listings/<slug:slug>/", listing_pages.listing, name="listing"),
    path("marketplace/listings/<slug:slug>/install/", start.install, name="listing-install"),
    path(
        "marketplace/listings/<slug:slug>/operations/",
        start.operations,
        name="listing-operations",
    ),
    path(
        "marketplace/listings/<slug:slug>/review/",
        listing_pages.decide,
        name="listing-review",
    ),
    path("marketplace/proposals/", start.proposals, name="proposals"),
    path("marketplace/proposals/<int:pk>/", start.answer, name="proposal"),
    path("marketplace/receivers/", start.receivers, name="install-receivers"),
    path(
        "marketplace/installations/<uuid:public_id>/",
        progress.installation,
        name="installation",
    ),
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
    path("marketplace/add/", pages.add_anything, name="add-anything"),
    path("marketplace/add/together/", pages.together, name="add-together"),
    path("marketplace/add/<uuid:public_id>/", pages.addition, name="addition"),
    path("marketplace/sources/", source_pages.sources, name="sources"),
    path("marketplace/add-source/", source_pages.add, name="source-add"),
    path(_SOURCE, source_pages.source, name="source"),
    path(f"{_SOURCE}refresh/", source_pages.refresh, name="source-refresh"),
    path(f"{_SOURCE}remove/", source_pages.remove, name="source-remove"),
    path("", include("marketplace.integrations.pages.integration_urls")),
    path("account/notifications/", channel_pages.mine, name="notifications"),
    path("account/notifications/<int:pk>/", channel_pages.my_channel, name="notification-channel"),
    path("access/notifications/", channel_pages.of_groups, name="access-notifications"),
    path(
        "access/notifications/<int:pk>/",
        channel_pages.group_channel,
        name="access-notification-channel",
    ),
    path("today/", today_pages.today, name="today"),
    path("today/calls/", today_pages.decide_calls, name="today-calls"),
    path("today/requests/", today_pages.decline_requests, name="today-requests"),
    path("today/integrations/", today_pages.check_integrations, name="today-integrations"),
    path("today/reviews/", today_pages.decide_reviews, name="today-reviews"),
    path("today/updates/", today_pages.begin_updates, name="today-updates"),
    path("today/alerts/", today_pages.see_alerts, name="today-alerts"),
    path("today/keys/", today_pages.renew_keys, name="today-keys"),
]
