"""Secrets of integrations: written by people, read by workers, never shown again."""

__all__ = ["encryption_keys", "personal_secrets", "sealed_values", "secret_store"]
