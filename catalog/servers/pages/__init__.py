"""Pages of one's own secrets and sign-ins at servers."""

__all__ = ["my_secrets", "secret_forms", "sign_in_pages"]
