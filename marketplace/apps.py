"""The marketplace: listings, sources and installations."""

import os

from django.apps import AppConfig

from marketplace.operate import telemetry


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    verbose_name = "Marketplace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Add places to the rail, register deployment checks, and start tracing if configured."""
        from django.utils.translation import gettext_lazy as _

        from acl.platform import processes  # noqa: F401 - its receivers
        from acl.web.frame import NavigationPlace, extensions
        from catalog.servers.secrets.sealed_values import register_sealed
        from discovery.select.helping_offers import register_help
        from marketplace.listings.search import offer_listings
        from marketplace.models import NotificationChannel
        from marketplace.operate.checkup import visits  # noqa: F401 - its receiver
        from marketplace.operate.roles import grants  # noqa: F401 - it registers them; models are there by now

        extensions.add_places(
            NavigationPlace("today", _("Today"), "sun", 5, key="d"),
            NavigationPlace("marketplace", _("Marketplace"), "store", 30, key="m"),
            NavigationPlace(
                "integrations", _("Integrations"), "plug", 210, key="i", for_staff=True
            ),
            NavigationPlace("health", _("Health"), "heart-pulse", 240, key="h", for_staff=True),
        )
        register_help(offer_listings)
        register_sealed(NotificationChannel, "sealed_address", "address_purpose")
        register_sealed(NotificationChannel, "sealed_secret", "secret_purpose")
        # Before the first request's middleware is made.
        if telemetry.is_wanted(os.environ):
            telemetry.start()
