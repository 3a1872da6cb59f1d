"""The checks by subject: each module is one, and is found by being there."""
