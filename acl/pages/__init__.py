"""The frame of every page, and the pages of people, keys, the audit log and one's account."""

__all__ = [
    "account_urls",
    "admin_site",
    "design_page",
    "extensions",
    "frame",
    "markdown",
    "people_urls",
    "register_urls",
    "session_pages",
    "staff_pages",
]
