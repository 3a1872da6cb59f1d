"""Discovery in three tiers, each with a budget: categories, a line per match, full definitions."""

__all__ = ["category_tier", "full_tier", "line_tier", "tier_options", "tier_state"]
