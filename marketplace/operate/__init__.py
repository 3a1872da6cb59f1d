"""Running Pegboard: embedded servers, secrets broker, backups, roles, tracing, audit anchor."""

__all__ = [
    "audit_anchor",
    "backups",
    "embedded",
    "pause",
    "roles",
    "secret_broker",
    "telemetry",
]
