"""REST endpoints of reviews and confirmations, and of programs' networks."""
