"""Parts common to all chat APIs: what is asked, what an answer says, and reading it strictly."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from catalog.formats.descriptors import JSONObject

MOST_ANSWER_TOKENS = 4_096
MOST_CALLS = 8  # of one answer; the model hears of the others that they were too many
_LONGEST_NAME = 200


class MalformedAnswerError(Exception):
    """The answer is not what this provider's API says. The text names the field."""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A wanted call of a model. Arguments are None if they were no JSON object."""

    id: str
    name: str
    arguments: JSONObject | None


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a wanted call, as text for the model."""

    id: str
    name: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Round:
    """An answer with wanted calls, as it was received, and their results."""

    content: JSONObject
    results: tuple[CallResult, ...]


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A message for a model. `earlier` are pairs of a message and its answer."""

    model_id: str
    prompt: str
    earlier: tuple[tuple[str, str], ...]
    text: str
    rounds: tuple[Round, ...]
    tools: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer. `content` goes back to the provider unchanged with the results of the calls."""

    content: JSONObject
    text: str
    calls: tuple[WantedCall, ...]
    tokens_read: int
    tokens_written: int


class ProviderAPI(Protocol):
    """Interface of each provider's module. `LABEL` names it on pages.

    `ADDRESS` is the provider's own, and `FORMAT` the format of its tools.
    """

    LABEL: str
    NEEDS_KEY: bool
    ADDRESS: str
    FORMAT: str

    def url(self, address: str, model_id: str) -> str: ...
    def headers(self, key: str) -> Mapping[str, str]: ...
    def body(self, question: ModelQuestion) -> JSONObject: ...
    def read(self, answer: JSONObject) -> ModelAnswer: ...


def read_object(value: Any, field: str) -> JSONObject:
    """Return the value, or raise MalformedAnswerError if it is no object."""
    if not isinstance(value, dict):
        raise MalformedAnswerError(field)
    return value


def read_objects(value: Any, field: str) -> list[JSONObject]:
    """Return the value, or raise MalformedAnswerError if it is no list of objects."""
    if not isinstance(value, list):
        raise MalformedAnswerError(field)
    return [read_object(item, field) for item in value]


def read_text(value: Any, field: str) -> str:
    """Return the value, or raise MalformedAnswerError if it is no text; null counts as "" ."""
    if value is not None and not isinstance(value, str):
        raise MalformedAnswerError(field)
    return value or ""


def read_name(value: Any, field: str) -> str:
    """Return a name or an id, which is neither empty nor long."""
    name = read_text(value, field)
    if not name or len(name) > _LONGEST_NAME:
        raise MalformedAnswerError(field)
    return name


def read_count(value: Any, field: str) -> int:
    """Return a number of tokens; null counts as 0."""
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise MalformedAnswerError(field)
    return value


def check_ids(calls: tuple[WantedCall, ...], field: str) -> tuple[WantedCall, ...]:
    """Return the calls, or raise MalformedAnswerError if two have the same id."""
    if len({call.id for call in calls}) != len(calls):
        raise MalformedAnswerError(field)
    return calls
