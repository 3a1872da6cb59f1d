"""Pages of integrations, for admins."""

__all__ = ["integration_urls"]
