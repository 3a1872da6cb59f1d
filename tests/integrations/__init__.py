"""Integrations: their pages, secrets, and sign-ins."""
