"""Calls of tools: checking, approving, running and reporting them."""

__all__ = [
    "approval_queue",
    "approvals",
    "argument_check",
    "call_arguments",
    "call_differences",
    "call_queries",
    "call_state",
    "call_view",
    "execution",
    "flow_check",
    "near_names",
    "own_tools",
    "reason_labels",
    "shown_parameters",
    "told_results",
]
