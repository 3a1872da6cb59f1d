"""Secrets of integrations: sealed by anyone here, opened by the secrets broker for a connection."""

__all__ = [
    "encryption_keys",
    "envelope",
    "personal_secrets",
    "refusals",
    "sealed_values",
    "secret_store",
]
