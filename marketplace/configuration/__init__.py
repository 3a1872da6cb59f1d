"""Configuration as code: groups, spaces, rights, integrations and policies, as one YAML file."""

__all__ = ["apply_service", "config_text", "export_service", "plan"]
