"""A week that never was: its people, their turns by the API, and the days these are moved to."""
