"""Listings: what the marketplace offers, stored, indexed, searched and shown."""

__all__ = [
    "icon_page",
    "listing_api",
    "listing_details",
    "listing_help",
    "listing_operations",
    "listing_pages",
    "listing_reviews",
    "listing_scanner",
    "listing_serializers",
    "listing_store",
    "offers",
    "package_test",
    "palette",
    "registry_urls",
    "search_index",
    "viewer",
]
