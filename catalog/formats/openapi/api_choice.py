"""Choosing operations: by tag, by words, by name, and up to a limit."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.formats.openapi.api_operations import ApiOperation

# As many as a model can be shown at once without a search; more are chosen on purpose.
FIRST_LIMIT = 100
MOST = 1_000  # `tools_per_server`
LONGEST = 200


@dataclass(frozen=True, slots=True)
class ApiChoice:
    """A choice among operations; an empty one means the first ones up to the limit."""

    tags: tuple[str, ...] = ()
    words: str = ""
    names: tuple[str, ...] = ()
    limit: int = FIRST_LIMIT

    @classmethod
    def from_json(cls, value: Any) -> "ApiChoice":
        """Restore a choice from `source_ref`."""
        stored: Mapping[str, Any] = value if isinstance(value, dict) else {}
        limit = stored.get("limit")
        return cls(
            tags=tuple(map(str, stored.get("tags") or ())),
            words=str(stored.get("words") or ""),
            names=tuple(map(str, stored.get("names") or ())),
            limit=min(limit, MOST) if isinstance(limit, int) and limit > 0 else FIRST_LIMIT,
        )

    def as_json(self) -> JSONObject:
        """Return the choice as it is stored, in `source_ref`."""
        parts = {"tags": list(self.tags), "words": self.words, "names": list(self.names)}
        return {**{key: value for key, value in parts.items() if value}, "limit": self.limit}


def choose(operations: Iterable[ApiOperation], choice: ApiChoice) -> list[ApiOperation]:
    """Return the chosen operations in their order."""
    chosen = [operation for operation in operations if _is_chosen(operation, choice)]
    return chosen[: choice.limit]


def count_tags(operations: Iterable[ApiOperation]) -> list[tuple[str, int]]:
    """Return the tags with their numbers of operations, most frequent first."""
    counts = Counter(tag for item in operations for tag in item.tags)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _is_chosen(operation: ApiOperation, choice: ApiChoice) -> bool:
    if choice.names:
        return operation.name in choice.names
    if choice.tags and not set(choice.tags) & set(operation.tags):
        return False
    text = f"{operation.name} {operation.path} {operation.summary}".lower()
    return all(word in text for word in choice.words.lower().split())
