"""Configuration as code: groups, spaces, rights, integrations and policies, as one YAML file."""
