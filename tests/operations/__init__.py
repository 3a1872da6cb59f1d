"""Pegboard as it is run: under load, restarted, backed up, changed; longer by `make operations`."""
