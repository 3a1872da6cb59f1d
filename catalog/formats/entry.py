"""Typed reading of untrusted mappings: wrong types are reported by field, texts come out cleaned.

Keys are found in either style: `required_secrets` also reads `requiredSecrets` and
`required-secrets`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalog.formats.descriptors import Defect, canonical_json
from catalog.formats.files import PlainScalar, RefusedError, is_deeper, typed
from catalog.formats.read_limits import DEFAULT_LIMITS, Limits
from catalog.formats.text_cleanup import AmbiguousKeysError, clean_name, clean_text, clean_value


@dataclass(slots=True)
class Document:
    """One source as it was read, where it lies, and the faults found in it so far."""

    file: str
    value: Any
    folder: Path | None = None
    integration: str | None = None
    limits: Limits = DEFAULT_LIMITS
    defects: list[Defect] = field(default_factory=list)

    def report(self, at: str, reason: str) -> None:
        """Note a fault of one field. Past the cap, the last note says that there are more."""
        cap = self.limits.defects_per_file
        if len(self.defects) < cap:
            self.defects.append(Defect(self.file, _readable(at), _readable(reason)))
        elif len(self.defects) == cap:
            self.defects.append(Defect(self.file, "file", "has more faults than are listed"))

    def entry(self, value: Any, at: str = "") -> "Entry":
        """One mapping of this document with a count of hidden characters of its own."""
        if is_deeper(value, self.limits.json_depth):
            raise RefusedError(f"is nested more than {self.limits.json_depth} deep", at or "file")
        return Entry(value, document=self, at=at)

    def entries(self, values: Any, at: str, *, limit: int) -> Iterator["Entry"]:
        """The mappings of a list, up to the limit; anything else in it is reported."""
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
        """The name that a source without one gets: its file's, or its folder's where the file's
        says nothing."""
        parts = self.file.split("/")
        stem = parts[-1].split(".")[0] or parts[-1].strip(".")
        if stem.lower() not in _SAYS_NOTHING:
            return stem
        if len(parts) > 1:
            return parts[-2]
        return self.folder.name if self.folder is not None else stem


# As people write them in YAML.
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_SAYS_NOTHING = {
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
    """One mapping, read field by field."""

    def __init__(
        self, value: Any, *, document: Document, at: str = "", parent: "Entry | None" = None
    ) -> None:
        if not isinstance(value, dict):
            raise RefusedError("must be a mapping", at or "file")
        self.document = document
        self.at = at
        # Shared with the mappings inside this one; a field that is read twice still counts once.
        self._hidden: dict[str, int] = parent._hidden if parent is not None else {}
        self._values: dict[str, Any] = {}
        for key, inner in value.items():
            self._values.setdefault(_plain_key(str(key)), inner)

    @property
    def hidden(self) -> int:
        """How many hidden characters were taken out of the texts that have been read."""
        return sum(self._hidden.values())

    def count_hidden(self, key: str, number: int) -> None:
        """Note how many hidden characters a field held."""
        place = self.place(key)
        self._hidden[place] = max(number, self._hidden.get(place, 0))

    def place(self, key: str) -> str:
        """The path of a field, as reports name it."""
        return f"{self.at}.{key}" if self.at else key

    def report(self, key: str, reason: str) -> None:
        """Note a fault of one of this entry's fields."""
        self.document.report(self.place(key), reason)

    def raw(self, *keys: str) -> Any:
        """The first of the keys that has a value, as it stands in the source."""
        for key in keys:
            value = self._values.get(_plain_key(key))
            if value is not None and not (
                isinstance(value, PlainScalar) and value in ("", "~", "null")
            ):
                return value
        return None

    def text(self, *keys: str, limit: int | None = None, required: bool = False) -> str:
        """A cleaned text without blanks around it; one over the limit is cut and reported."""
        value = self.raw(*keys)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if value is not None and not isinstance(value, str):
            self._wrong(keys[0], "must be a text", required=required)
            return ""
        cleaned, hidden = clean_text(value or "")
        self.count_hidden(keys[0], hidden)
        text = self.cut(keys[0], cleaned.strip(), limit or self.document.limits.description)
        if required and not text:
            raise RefusedError("is required", self.place(keys[0]))
        return text

    def name(self, *keys: str, limit: int | None = None, required: bool = False) -> str:
        """A cleaned name on one line. One over the limit is refused where it is required, dropped
        where not."""
        text = self.text(*keys, required=required)
        cleaned, _ = clean_name(text)
        limit = limit or self.document.limits.name
        if len(cleaned) > limit:
            self._wrong(keys[0], f"is longer than {limit} characters", required=required)
            return ""
        if required and not cleaned:
            raise RefusedError("is required", self.place(keys[0]))
        return cleaned

    def names(self, *keys: str, limit: int | None = None) -> tuple[str, ...]:
        """A list of names, each once; a text with commas counts as a list."""
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
            for index, item in enumerate(self._capped(keys[0], value))
        )
        return tuple(dict.fromkeys(name for name in names if name))

    def tags(self, *keys: str) -> tuple[str, ...]:
        """Tags, each no longer than a tag may be."""
        return self.names(*keys, limit=self.document.limits.short_name)

    def secrets(self, *keys: str) -> tuple[str, ...]:
        """Names of secrets."""
        return self.names(*keys, limit=self.document.limits.secret_name)

    def version(self, *keys: str) -> str:
        """A version, licence or other short label."""
        return self.name(*keys, limit=self.document.limits.version)

    def texts(self, *keys: str) -> tuple[str, ...]:
        """A list of texts as they are; what is no text is written as JSON would be."""
        value = self.raw(*keys)
        if value is None:
            return ()
        items = self._capped(keys[0], value if isinstance(value, list) else [value])
        return tuple(self._written(keys[0], index, item) for index, item in enumerate(items))

    def flag(self, *keys: str) -> bool | None:
        """True or false, or None where the source does not say."""
        raw = self.raw(*keys)
        value = _FLAGS.get(raw.lower()) if isinstance(raw, PlainScalar) else raw
        if isinstance(value, bool) or raw is None:
            return value
        self.report(keys[0], "must be true or false")
        return None

    def number(self, *keys: str) -> float | None:
        """A number, or None where the source does not say."""
        value = typed(self.raw(*keys))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if value is not None:
            self.report(keys[0], "must be a number")
        return None

    def mapping(self, *keys: str) -> "Entry | None":
        """A mapping inside this one."""
        value = self.raw(*keys)
        if isinstance(value, dict):
            return Entry(value, document=self.document, at=self.place(keys[0]), parent=self)
        if value is not None:
            self.report(keys[0], "must be a mapping")
        return None

    def mappings(self, *keys: str) -> list["Entry"]:
        """The mappings of a list inside this one."""
        value = self.raw(*keys)
        if value is None:
            return []
        found = self.document.entries(
            value, self.place(keys[0]), limit=self.document.limits.list_items
        )
        entries = list(found)
        for entry in entries:
            entry._hidden = self._hidden
        return entries

    def value(self, *keys: str) -> Any:
        """Any JSON value with cleaned texts."""
        return self.cleaned(typed(self.raw(*keys)), keys[0])

    def cleaned(self, value: Any, key: str) -> Any:
        """A value that belongs to this entry, its texts cleaned and its hidden characters
        counted."""
        try:
            clean, hidden = clean_value(value)
        except AmbiguousKeysError as error:
            raise RefusedError(str(error), self.place(key)) from error
        self.count_hidden(key, hidden)
        return clean

    def keys(self) -> list[str]:
        """The mapping's keys in plain style."""
        return list(self._values)

    def _list_item(self, key: str, item: Any, limit: int) -> str:
        if not isinstance(item, (str, int, float)) or isinstance(item, bool):
            self.report(key, "must be a text")
            return ""
        name, hidden = clean_name(str(item))
        self.count_hidden(key, hidden)
        if len(name) > limit:
            self.report(key, f"is longer than {limit} characters")
            return ""
        return name

    def _written(self, key: str, index: int, item: Any) -> str:
        value = item if isinstance(item, str) else typed(item)
        text, hidden = clean_text(value if isinstance(value, str) else canonical_json(value))
        self.count_hidden(f"{key}[{index}]", hidden)
        return self.cut(f"{key}[{index}]", text.strip(), self.document.limits.description)

    def _capped(self, key: str, items: list[Any]) -> list[Any]:
        cap = self.document.limits.list_items
        if len(items) > cap:
            self.report(key, f"has {len(items):,} items; only the first {cap} are read")
        return items[:cap]

    def cut(self, key: str, text: str, limit: int) -> str:
        """The text within the limit, in bytes; cutting is reported."""
        if len(text) <= limit // 4 or len(text.encode()) <= limit:
            return text
        self.report(key, f"has {len(text.encode()):,} bytes and was cut to {limit:,}")
        return text.encode()[:limit].decode(errors="ignore").rstrip()

    def _wrong(self, key: str, reason: str, *, required: bool) -> None:
        if required:
            raise RefusedError(reason, self.place(key))
        self.report(key, reason)


def distinct(names: Iterable[str], limit: int) -> tuple[str, ...]:
    """The names that are there and within the limit, each once."""
    return tuple(dict.fromkeys(name for name in names if name and len(name) <= limit))


def _plain_key(key: str) -> str:
    return re.sub(r"[-_ ]", "", key).lower()


def _readable(text: str) -> str:
    return clean_name(text).text[:500]
