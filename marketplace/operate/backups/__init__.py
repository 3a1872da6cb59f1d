"""Backups: the backup file, pg_dump and pg_restore, and swapping databases."""

__all__ = ["backup_archive", "backup_service", "database_swap", "postgres_programs"]
