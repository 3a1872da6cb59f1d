"""The shop: listings, sources, installing."""

import os

from django.apps import AppConfig

from marketplace import telemetry


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    verbose_name = "Marketplace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Traces, where somebody wants them: before the first request's middleware is made."""
        if telemetry.is_wanted(os.environ):
            telemetry.start()
