"""URLs of the integration pages."""

from django.urls import path

from marketplace.integrations.pages import (
    integration_actions,
    network,
    overview,
    own_servers,
    reviews,
    shared_credentials,
)

urlpatterns = [
    path("allowed-hosts/", network.hosts, name="allowed-hosts"),
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
    path("integrations/<slug:slug>/network/", network.network, name="integration-network"),
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
]
