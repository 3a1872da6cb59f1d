"""Pages for personal secrets and accounts at servers."""

__all__ = ["my_secrets", "secret_forms", "sign_in_pages"]
