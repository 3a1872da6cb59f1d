"""Pegboard in operation: load, restarts, backups, upgrades; `make operations` runs them longer."""
