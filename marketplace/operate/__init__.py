"""Running Pegboard: embedded servers, secrets broker, backups, roles, tracing, audit anchor."""
