"""The shop: listings, sources, installing."""

import os

from django.apps import AppConfig

from marketplace.operate import telemetry


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    verbose_name = "Marketplace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Checks of a deployment; and traces, where somebody wants them: before the first request's
        middleware is made."""
        from marketplace.operate import deploy_checks  # noqa: F401 - it registers them; models are there by now

        if telemetry.is_wanted(os.environ):
            telemetry.start()
