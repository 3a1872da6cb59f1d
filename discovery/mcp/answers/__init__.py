"""Answers to the meta-tools, a file for each family.

They use the same services as the API, so they contain only what the caller may use.
"""
