"""The app that answers who may use what."""

from django.apps import AppConfig


class AclConfig(AppConfig):
    name = "acl"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"
