"""The catalogue app: integrations, capabilities, vectors and words."""

from django.apps import AppConfig
from django.db.models.signals import pre_delete
from django.utils.translation import gettext_lazy


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = "Catalogue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register this app's page in the navigation, and the revocation of tokens."""
        # Imported here: models are available once every app is loaded.
        from acl.pages.extensions import Place, extensions
        from catalog.models import OAuthConnection
        from catalog.servers.oauth.oauth_accounts import store_revocation

        pre_delete.connect(store_revocation, sender=OAuthConnection, dispatch_uid="pegboard-revoke")
        extensions.add_places(
            Place("access", gettext_lazy("Access"), "shield", 70, key="c", for_staff=True)
        )
