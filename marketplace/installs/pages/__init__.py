"""Pages of installing: the form, its progress, and proposals."""

__all__ = ["install_pages", "progress_pages", "proposal_pages"]
