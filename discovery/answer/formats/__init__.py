"""Tools as each provider's API takes them, a file for each provider.

Every list is in the order of full names: the same tools give the same bytes, and a provider's
prompt cache keeps working.
"""

__all__ = ["format_base", "provider_formats"]
