"""What is wrong with the path of a file, in words that end "PEGBOARD_… must be"."""

from pathlib import Path


def no_file(text: str) -> str:
    """Nothing where `text` is a file that can be seen; else what it must be."""
    return "" if Path(text).is_file() else f"must be a file that exists, not {text}"
