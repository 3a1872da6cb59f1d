"""Discovery in three tiers, each with a budget: categories, a line per match, full definitions."""
