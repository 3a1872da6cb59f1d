"""REST endpoints of installations."""

__all__ = ["admin_api", "installation_api", "installation_steps"]
