"""Startup errors, worded for the person who runs Pegboard."""


class CannotRun(Exception):
    """Pegboard cannot start or continue. The message is one sentence that says what to do."""
