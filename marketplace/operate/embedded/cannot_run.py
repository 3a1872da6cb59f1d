"""What a person can put right, in one sentence."""


class CannotRun(Exception):
    """Pegboard cannot start or go on; the message is one sentence for the person who started it."""
