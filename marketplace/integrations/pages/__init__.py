"""Pages of integrations, for admins."""
