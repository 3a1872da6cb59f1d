"""Checks of file paths in settings. They return the end of "PEGBOARD_… must be", or ""."""

from pathlib import Path


def no_file(text: str) -> str:
    """Return "" if `text` is an existing file, else an error message."""
    return "" if Path(text).is_file() else f"must be a file that exists, not {text}"
