"""Backups: the file they are in, Postgres's own programs, and changing to another database."""
