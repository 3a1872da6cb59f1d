"""Secrets of integrations: sealed by anyone here, opened by the secrets broker for a connection."""

__all__ = [
    "broker_client",
    "encryption_keys",
    "envelope",
    "personal_secrets",
    "sealed_values",
    "secret_store",
]
