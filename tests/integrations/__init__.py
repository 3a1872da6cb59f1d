"""Integrations: their pages, their secrets, and signing in at them."""
