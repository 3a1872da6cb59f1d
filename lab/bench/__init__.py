"""Benchmarks. Each module can be run by itself, so Django is set up here."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
django.setup()
