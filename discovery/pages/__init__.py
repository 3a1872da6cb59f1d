"""The pages of choosing and using: Playground, My tools, approvals, first steps."""

__all__ = ["first_call", "site_urls"]
