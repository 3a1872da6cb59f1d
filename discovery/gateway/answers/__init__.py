"""Answers to the meta-tools, a file for each family.

They ask the same services as everybody else, so they hold only what the caller may use.
"""

__all__ = ["dispatch"]
