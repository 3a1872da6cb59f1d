"""Access control: the app of people, rights and the audit log."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AclConfig(AppConfig):
    name = "acl"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Add this app's places to the rail."""
        # Here, since tables can be named once every app is loaded.
        from acl.web.frame import NavigationPlace, extensions

        extensions.add_places(
            NavigationPlace("people-list", _("People"), "users", 130, key="e", for_staff=True),
            NavigationPlace("keys", _("Keys"), "key-round", 140, key="k", for_staff=True),
            NavigationPlace("audit", _("Audit log"), "book-text", 150, key="l", for_staff=True),
        )
