"""Secrets of integrations: people write them, workers read them, nobody sees them again."""

__all__ = ["encryption_keys", "key_rotation", "personal_secrets", "sealed_values", "secret_store"]
