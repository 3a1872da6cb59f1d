"""OpenAPI documents of versions 2.0 to 3.1: read, flattened to tools, and chosen from."""

__all__ = [
    "api_choice",
    "api_document",
    "api_names",
    "api_operations",
    "api_requests",
    "api_security",
    "openapi_format",
]
