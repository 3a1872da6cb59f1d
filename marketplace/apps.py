"""The shop: listings, sources, installing."""

import os

from django.apps import AppConfig

from marketplace.operate import telemetry


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    verbose_name = "Marketplace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Add places to the rail, register checks of a deployment, and start traces if wanted."""
        from acl.pages.extensions import Place, extensions
        from marketplace.operate import deploy_checks  # noqa: F401 - it registers them; models are there by now

        extensions.add_places(
            Place("marketplace", "Marketplace", "store", 30, key="m"),
            Place("integrations", "Integrations", "plug", 60, key="i", for_staff=True),
        )
        # Before the first request's middleware is made.
        if telemetry.is_wanted(os.environ):
            telemetry.start()
