"""The catalogue app: integrations, capabilities, vectors and words."""

from django.apps import AppConfig
from django.db.models.signals import pre_delete
from django.utils.translation import gettext_lazy


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = "Catalogue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register this app's page in the navigation, and what deletions leave behind."""
        # Imported here: models are available once every app is loaded.
        from acl.keys.lifecycle import keys_ended
        from acl.web.frame import NavigationPlace, extensions
        from catalog.access.kept_limits import (
            KEPT_TABLES,
            keep_access,
            keep_policy,
            keep_restriction,
            keep_rule,
        )
        from catalog.capabilities.runtime_state import retire_of_keys
        from catalog.formats.secret_redaction import word_addresses
        from catalog.models import Capability, Integration, OAuthConnection, Rule
        from catalog.servers.net.address_check import use_stored_hosts
        from catalog.servers.net.private_hosts import is_stored_host
        from catalog.servers.oauth.accounts import store_revocation

        extensions.word = word_addresses
        use_stored_hosts(is_stored_host)
        keys_ended.connect(retire_of_keys, dispatch_uid="pegboard-retire")
        pre_delete.connect(store_revocation, sender=OAuthConnection, dispatch_uid="pegboard-revoke")
        for sender, keep in (
            (Rule, keep_rule),
            (Capability, keep_access),
            (Integration, keep_restriction),
        ):
            pre_delete.connect(keep, sender=sender, dispatch_uid=f"pegboard-{keep.__name__}")
        for label in KEPT_TABLES.values():
            pre_delete.connect(keep_policy, sender=label, dispatch_uid=f"pegboard-keep-{label}")
        extensions.add_places(
            NavigationPlace(
                "access", gettext_lazy("Access"), "shield", 120, key="c", for_staff=True
            )
        )
