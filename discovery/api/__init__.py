"""REST endpoints of selections, calls, turns, learning and figures."""

__all__ = [
    "approval_api",
    "approval_serializers",
    "call_api",
    "call_log_api",
    "call_policy_api",
    "call_use_api",
    "chat_model_api",
    "discover_api",
    "insights_api",
    "learning_api",
    "metatool_api",
    "metatool_serializers",
    "plan_api",
    "price_api",
    "quota_api",
    "risk_api",
    "select_api",
    "tool_use_api",
    "turn_api",
    "turn_serializers",
]
