"""Backups: their file, Postgres's programs, and swapping databases."""

__all__ = ["backup_archive", "backup_service", "database_swap", "postgres_programs"]
