"""Load on all of Pegboard, as `make run` starts it, beside the goals it is held to."""
