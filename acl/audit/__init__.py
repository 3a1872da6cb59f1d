"""The append-only audit log: recording, reading, checking its chain, and exporting it."""

__all__ = [
    "audit_anchors",
    "audit_export",
    "audit_log",
    "chain_text",
    "entry_details",
    "log_verification",
    "looks",
    "recorder",
]
