"""Token counting, used everywhere.

The default is four characters per token, which needs no file. A deployment can name its own model's
tokenizer.json.
"""

from functools import lru_cache
from typing import Any, Protocol

import structlog
from django.conf import settings

from catalog.formats.descriptors import canonical_json

CHARACTERS_PER_TOKEN = 4
log = structlog.get_logger(__name__)


class TokenCounter(Protocol):
    """A token counter; an empty text has zero tokens."""

    def count(self, text: str) -> int: ...


class FourCharacters:
    """Four characters per token, rounded up."""

    def count(self, text: str) -> int:
        return -(-len(text) // CHARACTERS_PER_TOKEN)


class TokenizerFile:
    """A Hugging Face tokenizer.json. Raises ValueError if the file is none."""

    def __init__(self, path: str) -> None:
        # Imported when chosen: the default needs no library.
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(path)
        except Exception as problem:  # the library raises bare exceptions
            raise ValueError(f"{path} is not a tokenizer: {problem}") from problem
        # Tokenizer files often pad or truncate to their model's length.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, text: str) -> int:
        # Replace half surrogate pairs: JSON may contain them, but the library rejects them.
        return len(
            self._tokenizer.encode(
                text.encode(errors="replace").decode(), add_special_tokens=False
            ).ids
        )


def estimate_tokens(value: Any) -> int:
    """Estimate the tokens of a value, sent to a model as JSON."""
    return token_counter().count(canonical_json(value))


def token_counter() -> TokenCounter:
    """Return the configured counter."""
    return _counter(settings.PEGBOARD_TOKENIZER)


@lru_cache(maxsize=4)
def _counter(path: str) -> TokenCounter:
    if not path:
        return FourCharacters()
    try:
        return TokenizerFile(path)
    except ValueError as problem:
        # A rough estimate is better than a failed request.
        log.warning("tokenizer unavailable, counting characters", reason=str(problem))
        return FourCharacters()
