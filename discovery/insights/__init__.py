"""What turns say of tools and groups, beyond the figures of success: read only, for Insights."""
