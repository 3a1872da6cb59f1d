"""Soak tests: misbehaving servers beside a healthy one; `make soak` runs them in full."""
