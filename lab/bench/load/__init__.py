"""Load on a complete Pegboard as started by `make run`, compared with its goals."""
