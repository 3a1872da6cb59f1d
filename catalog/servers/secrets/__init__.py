"""Secrets of integrations: written by people, read by workers, never shown again."""

__all__ = ["encryption_keys", "key_rotation", "personal_secrets", "sealed_values", "secret_store"]
