"""Choosing and using: the selector and what grows around it."""

from django.apps import AppConfig


class DiscoveryConfig(AppConfig):
    name = "discovery"
    verbose_name = "Discovery"
    default_auto_field = "django.db.models.BigAutoField"
