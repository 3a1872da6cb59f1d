"""Lookups: lists, single capabilities, categories, statistics, and the cached listing."""

__all__ = [
    "catalog_queries",
    "detail_levels",
    "graph_api",
    "listing_cache",
    "lookup_api",
    "lookup_serializers",
]
