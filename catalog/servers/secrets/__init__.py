"""Secrets of integrations: sealed by anyone here, opened by the secrets broker for a connection."""
