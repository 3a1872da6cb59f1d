"""Shared by all endpoints: authentication, scopes, limits, strict bodies, problems, OpenAPI."""

__all__ = [
    "admin_api",
    "admin_policy",
    "api_callers",
    "authentication",
    "body_parser",
    "caller_serializer",
    "caller_view",
    "cpu_budgets",
    "error_handlers",
    "key_api",
    "negotiation",
    "openapi",
    "openapi_pages",
    "plain_text",
    "problems",
    "rate_limits",
    "request_callers",
    "request_ids",
    "scopes",
    "strict_serializer",
]
