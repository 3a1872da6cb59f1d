"""Calls of tools: checking, approving, running and reporting them."""

__all__ = [
    "approvals",
    "approvers",
    "argument_check",
    "argument_text",
    "call_differences",
    "call_digests",
    "call_queries",
    "call_view",
    "execution",
    "near_names",
    "own_tools",
    "queue_limits",
    "shown_parameters",
]
