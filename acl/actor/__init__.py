"""Chain of an act: the actor, the credential, and the subject."""

__all__ = ["chain", "request_context"]
