"""Database roles: the owner, the application, and the owner of the audit log."""
