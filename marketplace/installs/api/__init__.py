"""REST endpoints of installations."""

__all__ = ["installation_api", "installation_steps"]
