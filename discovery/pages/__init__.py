"""The pages about selecting and using tools: Playground, My tools, approvals, first steps."""

__all__ = ["first_call", "first_steps_page", "site_urls"]
