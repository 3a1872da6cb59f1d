"""API of rights: explanations, reach, holders and rules."""

__all__ = ["access_serializers", "explanation_api", "rule_api"]
