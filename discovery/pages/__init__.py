"""The pages about selecting and using tools: Playground, My tools, approvals, first steps."""

__all__ = ["first_call", "site_urls"]
