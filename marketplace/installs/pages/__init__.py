"""Pages of installing: the form, the progress, and proposed servers."""

__all__ = ["install_pages", "progress_pages", "proposal_pages"]
