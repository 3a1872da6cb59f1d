"""Pegboard's tools in the agents of other libraries: one module a library, each an extra."""
