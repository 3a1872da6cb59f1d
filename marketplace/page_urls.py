"""URLs of the marketplace pages."""

from django.urls import path

from marketplace.additions import pages as addition_pages
from marketplace.installs import pages as install_pages
from marketplace.installs import progress_pages
from marketplace.integrations.pages import (
    integration_actions,
    overview,
    own_servers,
    reviews,
    shared_credentials,
)
from marketplace.listings import pages as listing_pages
from marketplace.listings import palette_pages
from marketplace.notifications import pages as channel_pages
from marketplace.operate.checkup import pages as checkup_pages
from marketplace.sources import pages as source_pages
from marketplace.today import pages as today_pages

_SOURCE = "marketplace/sources/<slug:slug>/"

urlpatterns = [
    path("health/", checkup_pages.health, name="health"),
    path("find/", palette_pages.find, name="find"),
    path("icons/<uuid:public_id>.png", listing_pages.icon, name="icon"),
    path("marketplace/", listing_pages.browse, name="marketplace"),
    path("marketplace/listings/<slug:slug>/", listing_pages.listing, name="listing"),
    path(
        "marketplace/listings/<slug:slug>/install/", install_pages.install, name="listing-install"
    ),
    path(
        "marketplace/listings/<slug:slug>/operations/",
        install_pages.operations,
        name="listing-operations",
    ),
    path(
        "marketplace/listings/<slug:slug>/review/",
        listing_pages.decide,
        name="listing-review",
    ),
    path("marketplace/proposals/", install_pages.proposals, name="proposals"),
    path("marketplace/proposals/<int:pk>/", install_pages.answer, name="proposal"),
    path("marketplace/receivers/", install_pages.receivers, name="install-receivers"),
    path(
        "marketplace/installations/<uuid:public_id>/",
        progress_pages.installation,
        name="installation",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/confirm/",
        progress_pages.confirm,
        name="installation-confirm",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/approve/",
        progress_pages.approve,
        name="installation-approve",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/retry/",
        progress_pages.retry,
        name="installation-retry",
    ),
    path(
        "marketplace/installations/<uuid:public_id>/cancel/",
        progress_pages.cancel,
        name="installation-cancel",
    ),
    path("marketplace/add/", addition_pages.add_anything, name="add-anything"),
    path("marketplace/add/together/", addition_pages.together, name="add-together"),
    path("marketplace/add/<uuid:public_id>/", addition_pages.addition, name="addition"),
    path("marketplace/sources/", source_pages.sources, name="sources"),
    path("marketplace/add-source/", source_pages.add, name="source-add"),
    path(_SOURCE, source_pages.source, name="source"),
    path(f"{_SOURCE}refresh/", source_pages.refresh, name="source-refresh"),
    path(f"{_SOURCE}remove/", source_pages.remove, name="source-remove"),
    path("allowed-hosts/", overview.hosts, name="allowed-hosts"),
    path("own-servers/", own_servers.own_server_policy, name="own-server-policy"),
    path("tools/own-servers/", own_servers.own_servers, name="own-servers"),
    path("tools/own-servers/<slug:slug>/remove/", own_servers.remove, name="own-server-remove"),
    path("integrations/", overview.integrations, name="integrations"),
    path("integrations/<slug:slug>/", overview.integration, name="integration"),
    path("integrations/<slug:slug>/check/", integration_actions.check, name="integration-check"),
    path(
        "integrations/<slug:slug>/confirm/",
        reviews.confirm,
        name="integration-confirm",
    ),
    path("integrations/<slug:slug>/review/", reviews.review, name="integration-review"),
    path("integrations/<slug:slug>/review/decide/", reviews.decide, name="integration-decide"),
    path("integrations/<slug:slug>/switch/", integration_actions.switch, name="integration-switch"),
    path("integrations/<slug:slug>/retry/", integration_actions.retry, name="integration-retry"),
    path("integrations/<slug:slug>/update/", integration_actions.update, name="integration-update"),
    path(
        "integrations/<slug:slug>/roll-back/",
        integration_actions.roll_back,
        name="integration-roll-back",
    ),
    path("integrations/<slug:slug>/repair/", integration_actions.repair, name="integration-repair"),
    path(
        "integrations/<slug:slug>/uninstall/",
        integration_actions.uninstall,
        name="integration-uninstall",
    ),
    path(
        "integrations/<slug:slug>/call-limit/",
        integration_actions.call_limit,
        name="integration-call-limit",
    ),
    path(
        "integrations/<slug:slug>/requestable/",
        integration_actions.requestable,
        name="integration-requestable",
    ),
    path(
        "integrations/<slug:slug>/application-executes/",
        integration_actions.application_executes,
        name="integration-application-executes",
    ),
    path(
        "integrations/<slug:slug>/tools/<slug:full_name>/",
        integration_actions.tool,
        name="integration-tool",
    ),
    path("integrations/<slug:slug>/network/", overview.network, name="integration-network"),
    path(
        "integrations/<slug:slug>/secrets/",
        shared_credentials.secrets,
        name="integration-secrets",
    ),
    path(
        "integrations/<slug:slug>/sign-in/",
        shared_credentials.sign_in,
        name="integration-sign-in",
    ),
    path(
        "integrations/<slug:slug>/sign-out/",
        shared_credentials.sign_out,
        name="integration-sign-out",
    ),
    path(
        "integrations/<slug:slug>/client/",
        shared_credentials.client,
        name="integration-client",
    ),
    path(
        "integrations/<slug:slug>/own-secrets/",
        shared_credentials.own_secrets,
        name="integration-own-secrets",
    ),
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
