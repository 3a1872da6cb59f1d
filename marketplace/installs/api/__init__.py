"""REST endpoints of installations."""

__all__ = ["installation_api", "installation_serializers", "installation_steps"]
