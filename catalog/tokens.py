"""How many tokens a text costs: the one place that says so.

By default a rule of thumb, four characters a token, which needs no file and costs no time. A
deployment that wants the count of its own model names that model's tokenizer.json.
"""

from functools import lru_cache
from typing import Any, Protocol

import structlog
from django.conf import settings

from catalog.formats.descriptors import canonical_json

CHARACTERS_PER_TOKEN = 4
log = structlog.get_logger(__name__)


class TokenCounter(Protocol):
    """Counts the tokens of a text; an empty text has none."""

    def count(self, text: str) -> int: ...


class FourCharacters:
    """The rule of thumb, rounded up."""

    def count(self, text: str) -> int:
        return -(-len(text) // CHARACTERS_PER_TOKEN)


class TokenizerFile:
    """A tokenizer as Hugging Face's libraries write it. Raises ValueError where it is none."""

    def __init__(self, path: str) -> None:
        # Imported when chosen: processes that count by the rule do without the library.
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(path)
        except Exception as problem:  # the library raises bare exceptions
            raise ValueError(f"{path} is not a tokenizer: {problem}") from problem
        # Such files often ask for one length, for the model that they came with.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(_sendable(text), add_special_tokens=False).ids)


def estimate_tokens(value: Any) -> int:
    """What a value costs where a model is given it as JSON."""
    return token_counter().count(canonical_json(value))


def token_counter() -> TokenCounter:
    """The one that the settings name."""
    return _counter(settings.PEGBOARD_TOKENIZER)


@lru_cache(maxsize=4)
def _counter(path: str) -> TokenCounter:
    if not path:
        return FourCharacters()
    try:
        return TokenizerFile(path)
    except ValueError as problem:
        # An estimate that is somewhat wrong is better than no answer.
        log.warning("counting four characters a token", reason=str(problem))
        return FourCharacters()


def _sendable(text: str) -> str:
    """Without half surrogate pairs, which JSON may have and the library does not take."""
    return text.encode(errors="replace").decode()
