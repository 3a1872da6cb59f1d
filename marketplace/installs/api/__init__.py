"""REST endpoints of installations."""
