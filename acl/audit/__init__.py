"""The append-only audit log: recording, reading, checking its chain, and exporting it."""

__all__ = ["audit_anchors", "audit_log", "entry_text", "log_verification", "recorder"]
