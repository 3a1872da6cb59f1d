"""Where the pages of integrations live."""

from django.urls import path

from marketplace.views import (
    integration_accounts,
    integration_changes,
    integration_confirmation,
    integration_secrets,
    integrations,
    review,
)

urlpatterns = [
    path("integrations/", integrations.integrations, name="integrations"),
    path("integrations/<slug:slug>/", integrations.integration, name="integration"),
    path("integrations/<slug:slug>/check/", integration_changes.check, name="integration-check"),
    path(
        "integrations/<slug:slug>/confirm/",
        integration_confirmation.confirm,
        name="integration-confirm",
    ),
    path("integrations/<slug:slug>/review/", review.review, name="integration-review"),
    path("integrations/<slug:slug>/review/decide/", review.decide, name="integration-decide"),
    path("integrations/<slug:slug>/switch/", integration_changes.switch, name="integration-switch"),
    path("integrations/<slug:slug>/retry/", integration_changes.retry, name="integration-retry"),
    path("integrations/<slug:slug>/update/", integration_changes.update, name="integration-update"),
    path(
        "integrations/<slug:slug>/roll-back/",
        integration_changes.roll_back,
        name="integration-roll-back",
    ),
    path("integrations/<slug:slug>/repair/", integration_changes.repair, name="integration-repair"),
    path(
        "integrations/<slug:slug>/uninstall/",
        integration_changes.uninstall,
        name="integration-uninstall",
    ),
    path(
        "integrations/<slug:slug>/secrets/",
        integration_secrets.secrets,
        name="integration-secrets",
    ),
    path(
        "integrations/<slug:slug>/sign-in/",
        integration_accounts.sign_in,
        name="integration-sign-in",
    ),
    path(
        "integrations/<slug:slug>/sign-out/",
        integration_accounts.sign_out,
        name="integration-sign-out",
    ),
    path(
        "integrations/<slug:slug>/client/",
        integration_accounts.client,
        name="integration-client",
    ),
    path(
        "integrations/<slug:slug>/own-secrets/",
        integration_secrets.own_secrets,
        name="integration-own-secrets",
    ),
]
