"""Sources of listings: reading them on a schedule, a file for each kind."""

__all__ = ["catalog_import", "kinds", "source_api", "source_pages"]
