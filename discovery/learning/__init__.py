"""Learning from use: what a group called for which messages, remembered and forgotten."""
