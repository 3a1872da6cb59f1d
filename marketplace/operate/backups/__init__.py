"""Backups: the backup file, pg_dump and pg_restore, and swapping databases."""
