"""API of rights: explanations, reach, holders, grants and rules."""

__all__ = ["access_serializers", "explanation_api", "grant_api", "merge_api", "rule_api"]
