"""URLs of the integration pages."""

from django.urls import path

from marketplace.integrations.pages import (
    integration_actions,
    integration_pages,
    network_pages,
    review_pages,
    shared_credential_pages,
)

urlpatterns = [
    path("integrations/", integration_pages.integrations, name="integrations"),
    path("integrations/<slug:slug>/", integration_pages.integration, name="integration"),
    path("integrations/<slug:slug>/check/", integration_actions.check, name="integration-check"),
    path(
        "integrations/<slug:slug>/confirm/",
        review_pages.confirm,
        name="integration-confirm",
    ),
    path("integrations/<slug:slug>/review/", review_pages.review, name="integration-review"),
    path("integrations/<slug:slug>/review/decide/", review_pages.decide, name="integration-decide"),
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
        "integrations/<slug:slug>/requestable/",
        integration_actions.requestable,
        name="integration-requestable",
    ),
    path("integrations/<slug:slug>/network/", network_pages.network, name="integration-network"),
    path(
        "integrations/<slug:slug>/secrets/",
        shared_credential_pages.secrets,
        name="integration-secrets",
    ),
    path(
        "integrations/<slug:slug>/sign-in/",
        shared_credential_pages.sign_in,
        name="integration-sign-in",
    ),
    path(
        "integrations/<slug:slug>/sign-out/",
        shared_credential_pages.sign_out,
        name="integration-sign-out",
    ),
    path(
        "integrations/<slug:slug>/client/",
        shared_credential_pages.client,
        name="integration-client",
    ),
    path(
        "integrations/<slug:slug>/own-secrets/",
        shared_credential_pages.own_secrets,
        name="integration-own-secrets",
    ),
]
