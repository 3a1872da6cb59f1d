"""Learning from use: what a group called for which messages, kept and forgotten."""
