"""Shared by all endpoints: authentication, scopes, limits, strict bodies, problems, OpenAPI."""

__all__ = [
    "answer_serializer",
    "api_views",
    "authentication",
    "cpu_budgets",
    "error_handlers",
    "group_api",
    "json_content",
    "key_api",
    "openapi",
    "openapi_pages",
    "people_api",
    "plain_text",
    "problems",
    "rate_limits",
    "refusals",
    "request_callers",
    "request_ids",
    "scopes",
    "space_api",
    "strict_serializer",
]
