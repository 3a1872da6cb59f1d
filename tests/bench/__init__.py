"""Measurements. Each module can be run by itself, so Django is made ready before any of them."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
django.setup()
