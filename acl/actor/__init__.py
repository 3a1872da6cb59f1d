"""The chain behind an act: who acts, with which credential, and for whom."""

__all__ = ["chain", "request_context"]
