"""The audit anchor: the head of the audit log, noted outside of the database."""

__all__ = ["anchor_state"]
