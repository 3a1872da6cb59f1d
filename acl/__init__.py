"""Access control: people, groups, spaces, keys, the audit log, and the base of every request."""
