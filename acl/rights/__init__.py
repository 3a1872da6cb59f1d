"""The rights rule: what a caller may use, as one SQL statement, and who may use one capability."""

__all__ = [
    "access_requests",
    "approvers",
    "caller",
    "caller_lookup",
    "decision",
    "holders",
    "precedence",
    "precedence_sql",
    "rights_statement",
]
