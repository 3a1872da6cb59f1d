"""Pages for personal secrets and accounts at servers."""

__all__ = ["my_secrets", "sign_in_pages"]
