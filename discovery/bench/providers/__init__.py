"""Chat APIs of the providers, a file for each: the request, and what its answer says. Pure."""

__all__ = ["provider_apis", "provider_base"]
