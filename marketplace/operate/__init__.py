"""Running Pegboard: its embedded servers, backups, database roles, tracing, the audit anchor."""

__all__ = ["audit_anchor", "backups", "embedded", "pause", "roles", "telemetry"]
