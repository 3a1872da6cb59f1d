"""The database's roles: who owns the tables, who works with them, and who owns the audit log."""
