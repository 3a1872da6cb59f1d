"""Typed reading of untrusted mappings: wrong types are reported by field, texts are cleaned.

Keys match in any style: `required_secrets` also reads `requiredSecrets` and `required-secrets`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalog.formats.descriptors import Defect, canonical_json
from catalog.formats.files import (
    DEFAULT_LIMITS,
    Limits,
    PlainScalar,
    RefusedError,
    is_deeper,
    resolve_types,
)
from catalog.formats.loose_text import find_line
from catalog.formats.text_cleanup import AmbiguousKeysError, clean_name, clean_text, clean_value


@dataclass(slots=True)
class Document:
    """A parsed source, its location, and the defects found so far."""

    file: str
    value: Any
    folder: Path | None = None
    integration: str | None = None
    limits: Limits = DEFAULT_LIMITS
    text: str = field(default="", repr=False)  # to say the line of a defect
    defects: list[Defect] = field(default_factory=list)

    def report(self, at: str, reason: str) -> None:
        """Record a defect of one field; after the cap, record once that there are more."""
        cap = self.limits.defects_per_file
        if len(self.defects) < cap:
            line = find_line(self.text, at) if self.text else 0
            self.defects.append(Defect(self.file, _printable(at), _printable(reason), line=line))
        elif len(self.defects) == cap:
            self.defects.append(Defect(self.file, "file", "has more problems than are listed"))

    def entry(self, value: Any, at: str = "") -> "Entry":
        """Wrap one mapping, with its own count of hidden characters."""
        if is_deeper(value, self.limits.json_depth):
            raise RefusedError(f"is nested more than {self.limits.json_depth} deep", at or "file")
        return Entry(value, document=self, at=at)

    def entries(self, values: Any, at: str, *, limit: int) -> Iterator["Entry"]:
        """Yield the mappings in a list, up to the limit; report any other item."""
        if not isinstance(values, list):
            self.report(at, "must be a list")
            return
        if len(values) > limit:
            self.report(at, f"has {len(values):,} entries; only the first {limit:,} are read")
        for index, value in enumerate(values[:limit]):
            try:
                yield self.entry(value, f"{at}[{index}]")
            except RefusedError as refused:
                self.report(refused.field, refused.reason)

    @property
    def stem(self) -> str:
        """Return a fallback name: the file's stem, or its folder's name if the stem is generic."""
        parts = self.file.split("/")
        stem = parts[-1].split(".")[0] or parts[-1].strip(".")
        if stem.lower() not in _GENERIC_STEMS:
            return stem
        if len(parts) > 1:
            return parts[-2]
        return self.folder.name if self.folder is not None else stem


# As people write them in YAML.
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_GENERIC_STEMS = {
    "tools",
    "catalog",
    "server",
    "mcp",
    "spec",
    "skill",
    "capability",
    "plugin",
    "marketplace",
    "index",
}


class Entry:
    """A mapping, read field by field."""

    def __init__(
        self, value: Any, *, document: Document, at: str = "", parent: "Entry | None" = None
    ) -> None:
        if not isinstance(value, dict):
            raise RefusedError("must be a mapping", at or "file")
        self.document = document
        self.at = at
        # Shared with the mappings inside this one; a field that is read twice still counts once.
        self._hidden: dict[str, int] = parent._hidden if parent is not None else {}
        self._source = {str(key): inner for key, inner in value.items()}
        self._values: dict[str, Any] = {}
        for key, inner in value.items():
            self._values.setdefault(plain_key(str(key)), inner)

    @property
    def hidden(self) -> int:
        """Return how many hidden characters were removed from the texts read so far."""
        return sum(self._hidden.values())

    def count_hidden(self, key: str, number: int) -> None:
        """Record how many hidden characters a field held."""
        place = self.place(key)
        self._hidden[place] = max(number, self._hidden.get(place, 0))

    def place(self, key: str) -> str:
        """Return the path of a field, as shown in reports."""
        return f"{self.at}.{key}" if self.at else key

    def report(self, key: str, reason: str) -> None:
        """Record a defect of one field."""
        self.document.report(self.place(key), reason)

    def raw(self, *keys: str) -> Any:
        """Return the source value of the first key that has one."""
        for key in keys:
            value = self._values.get(plain_key(key))
            if value is not None and not (
                isinstance(value, PlainScalar) and value in ("", "~", "null")
            ):
                return value
        return None

    def text(self, *keys: str, limit: int | None = None, required: bool = False) -> str:
        """Return the cleaned, stripped text; a text over the limit is cut and reported."""
        value = self.raw(*keys)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if value is not None and not isinstance(value, str):
            self._reject(keys[0], "must be text", required=required)
            return ""
        cleaned, hidden = clean_text(value or "")
        self.count_hidden(keys[0], hidden)
        text = self.cut(keys[0], cleaned.strip(), limit or self.document.limits.description)
        if required and not text:
            raise RefusedError("is required", self.place(keys[0]))
        return text

    def name(self, *keys: str, limit: int | None = None, required: bool = False) -> str:
        """Return a cleaned single-line name.

        A name over the limit is refused if required, otherwise reported and dropped.
        """
        text = self.text(*keys, required=required)
        cleaned, _ = clean_name(text)
        limit = limit or self.document.limits.name
        if len(cleaned) > limit:
            self._reject(keys[0], f"is longer than {limit} characters", required=required)
            return ""
        if required and not cleaned:
            raise RefusedError("is required", self.place(keys[0]))
        return cleaned

    def names(self, *keys: str, limit: int | None = None) -> tuple[str, ...]:
        """Return a list of distinct names; a comma-separated text counts as a list."""
        value = self.raw(*keys)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [part for part in value.split(",") if part.strip()]
        if not isinstance(value, list):
            self.report(keys[0], "must be a list of texts")
            return ()
        names = (
            self._list_item(f"{keys[0]}[{index}]", item, limit or self.document.limits.name)
            for index, item in enumerate(self._cap_items(keys[0], value))
        )
        return tuple(dict.fromkeys(name for name in names if name))

    def tags(self, *keys: str) -> tuple[str, ...]:
        """Return tags, each within the limit for short names."""
        return self.names(*keys, limit=self.document.limits.short_name)

    def secrets(self, *keys: str) -> tuple[str, ...]:
        """Return names of secrets."""
        return self.names(*keys, limit=self.document.limits.secret_name)

    def version(self, *keys: str) -> str:
        """Return a version, licence or other short label."""
        return self.name(*keys, limit=self.document.limits.version)

    def texts(self, *keys: str) -> tuple[str, ...]:
        """Return a list of texts; other values are serialized as JSON."""
        value = self.raw(*keys)
        if value is None:
            return ()
        items = self._cap_items(keys[0], value if isinstance(value, list) else [value])
        return tuple(self._item_text(keys[0], index, item) for index, item in enumerate(items))

    def flag(self, *keys: str) -> bool | None:
        """Return a boolean, or None if the source has none."""
        raw = self.raw(*keys)
        value = _FLAGS.get(raw.lower()) if isinstance(raw, PlainScalar) else raw
        if isinstance(value, bool) or raw is None:
            return value
        self.report(keys[0], "must be true or false")
        return None

    def number(self, *keys: str) -> float | None:
        """Return a number, or None if the source has none."""
        value = resolve_types(self.raw(*keys))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if value is not None:
            self.report(keys[0], "must be a number")
        return None

    def mapping(self, *keys: str) -> "Entry | None":
        """Return a nested mapping, or None."""
        value = self.raw(*keys)
        if isinstance(value, dict):
            return Entry(value, document=self.document, at=self.place(keys[0]), parent=self)
        if value is not None:
            self.report(keys[0], "must be a mapping")
        return None

    def mappings(self, *keys: str) -> list["Entry"]:
        """Return the mappings of a nested list."""
        value = self.raw(*keys)
        if value is None:
            return []
        nested = self.document.entries(
            value, self.place(keys[0]), limit=self.document.limits.list_items
        )
        entries = list(nested)
        for entry in entries:
            # Items count towards this entry, as nested mappings do.
            entry._hidden = self._hidden
        return entries

    def value(self, *keys: str) -> Any:
        """Return any JSON value with its texts cleaned."""
        return self.cleaned(resolve_types(self.raw(*keys)), keys[0])

    def cleaned(self, value: Any, key: str) -> Any:
        """Clean all texts in a value of this entry and count the hidden characters."""
        try:
            clean, hidden = clean_value(value)
        except AmbiguousKeysError as error:
            raise RefusedError(str(error), self.place(key)) from error
        self.count_hidden(key, hidden)
        return clean

    def items(self) -> list[tuple[str, Any]]:
        """Return the fields as they are spelt, with their values in plain types."""
        return [(key, resolve_types(value)) for key, value in self._source.items()]

    def keys(self) -> list[str]:
        """Return the keys in normalized style."""
        return list(self._values)

    def _list_item(self, key: str, item: Any, limit: int) -> str:
        if not isinstance(item, (str, int, float)) or isinstance(item, bool):
            self.report(key, "must be text")
            return ""
        name, hidden = clean_name(str(item))
        self.count_hidden(key, hidden)
        if len(name) > limit:
            self.report(key, f"is longer than {limit} characters")
            return ""
        return name

    def _item_text(self, key: str, index: int, item: Any) -> str:
        value = item if isinstance(item, str) else resolve_types(item)
        text, hidden = clean_text(value if isinstance(value, str) else canonical_json(value))
        self.count_hidden(f"{key}[{index}]", hidden)
        return self.cut(f"{key}[{index}]", text.strip(), self.document.limits.description)

    def _cap_items(self, key: str, items: list[Any]) -> list[Any]:
        cap = self.document.limits.list_items
        if len(items) > cap:
            self.report(key, f"has {len(items):,} items; only the first {cap} are read")
        return items[:cap]

    def cut(self, key: str, text: str, limit: int) -> str:
        """Cut a text to the limit, in bytes, and report it."""
        if len(text) <= limit // 4 or len(text.encode()) <= limit:
            return text
        self.report(key, f"has {len(text.encode()):,} bytes and was cut to {limit:,}")
        return text.encode()[:limit].decode(errors="ignore").rstrip()

    def _reject(self, key: str, reason: str, *, required: bool) -> None:
        if required:
            raise RefusedError(reason, self.place(key))
        self.report(key, reason)


def distinct(names: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the distinct, non-empty names within the limit."""
    return tuple(dict.fromkeys(name for name in names if name and len(name) <= limit))


def plain_key(key: str) -> str:
    """Return a key in the one spelling in which keys are compared."""
    return re.sub(r"[-_ ]", "", key).lower()


def _printable(text: str) -> str:
    return clean_name(text).text[:500]
