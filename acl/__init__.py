"""Who may use what: people, groups, spaces, keys, the audit log, and what every request shares."""
