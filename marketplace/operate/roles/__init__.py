"""Database roles: the owner, the application, and the owner of the audit log."""

__all__ = ["owner_role", "role_grants", "role_names", "role_powers", "role_preparation"]
