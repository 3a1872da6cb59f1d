"""The frame of every page, and the pages of people, keys, the audit log and one's account."""

__all__ = [
    "account_urls",
    "admin_site",
    "design_page",
    "extensions",
    "frame",
    "help_topics",
    "key_forms",
    "markdown",
    "session_pages",
    "staff_pages",
    "staff_urls",
    "text_upload",
]
