"""The audit anchor: copies of the audit log's head, kept outside the database."""
