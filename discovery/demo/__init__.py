"""A demonstration week: teams, their turns through the API, and the days these are moved to."""
