"""Parts common to all kinds: their shape, how they are read, and entries in files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from django.utils.translation import gettext_lazy as _

from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.files import DEFAULT_LIMITS, RefusedError, decode, parse_json, read_text
from catalog.formats.loader import load_path
from catalog.formats.loose_text import parse_loose, unwrap
from catalog.formats.readers.openapi import refuse_api
from catalog.formats.source_folders import display_path, find_sources
from marketplace.models import Source
from marketplace.offers.offer import Offer, SourceProblemError

ARCHIVE_HINT = _("An archive, a repository on a supported Git host, or a folder.")
_READMES = ("README.md", "readme.md", "Readme.md")


class SourceAccess(Protocol):
    """A pass over a source, as a kind sees it: its documents and folder, and where defects go.

    `complete` is False if the end was not reached: then unseen listings do not count as removed.
    Plugins in `kept` were not fetched again in this pass.
    """

    source: Source
    kept: set[str]
    renames: dict[str, str]
    total: int | None

    def report(self, *defects: Defect) -> None: ...
    def cut_short(self, reason: str) -> None: ...
    def fetch_json(self, url: str) -> Any: ...
    def fetch_source(self, url: str) -> bytes: ...
    def fetch_part(self, url: str) -> bytes: ...
    def folder(self) -> AbstractContextManager[Path]: ...
    def unpack(self, body: bytes, folder: Path) -> None: ...
    def unpacked(self, body: bytes, *, folder: str = "") -> AbstractContextManager[Path]: ...


class SourceKind(Protocol):
    """Interface of each kind's module. `LABEL` and `HINT` are shown where one is added.

    Only admins see listings of an internal kind. `PLACE` says what an address leads to, and
    `SUGGESTED` has well-known ones by their titles: none is read before an admin adds it.
    """

    LABEL: str
    HINT: str
    IS_INTERNAL: bool
    PLACE: Literal["document", "archive", "archive or document"]
    SUGGESTED: tuple[tuple[str, str], ...]

    def offers(self, reading: SourceAccess) -> Iterator[Offer]: ...


def load_files(
    root: Path, reading: SourceAccess, *, is_wanted: Callable[[str], bool] = bool
) -> Iterator[tuple[Path, Loaded]]:
    """Load each file below the folder, optionally only those whose names are wanted.

    Defects name their file relative to the folder.
    """
    sources = find_sources(root, DEFAULT_LIMITS)
    reading.report(*sources.defects)
    files = [path for path in sources.files if is_wanted(path.name)]
    reading.total = len(files)
    for path in files:
        yield path, load_file(path, sources.root, reading)


def load_file(path: Path, root: Path, reading: SourceAccess) -> Loaded:
    """Load one file and report its defects; no kind of source keeps OpenAPI documents."""
    loaded = load_path(path, read_api=refuse_api)
    name = display_path(path, root)
    reading.report(
        *(replace(defect, file=_defect_path(defect, path, name)) for defect in loaded.defects)
    )
    return loaded


def keep_formats(
    loaded: Loaded, formats: frozenset[str], name: str, reading: SourceAccess
) -> Loaded:
    """Drop and report entries whose format this kind of source does not read."""
    supported = tuple(
        integration
        for integration in loaded.integrations
        if integration.source_ref.get("format") in formats
    )
    if len(supported) < len(loaded.integrations) or (
        loaded.capabilities and not loaded.integrations
    ):
        reading.report(
            Defect(name, "file", "has a format that this kind of source does not support")
        )
    return replace(loaded, integrations=supported)


def read_readme(folder: Path) -> str:
    """Return the README of a folder, cut at the limit, or ""."""
    for name in _READMES:
        try:
            return read_text(folder / name, folder, limit=DEFAULT_LIMITS.content)
        except RefusedError:
            continue
    return ""


def _defect_path(defect: Defect, path: Path, name: str) -> str:
    """Return the relative path of a defect's file, which may lie beside the file that was read."""
    folder, slash, _ = name.rpartition("/")
    return name if defect.file == path.name else f"{folder}{slash}{defect.file}"


def parse_source_text(body: bytes) -> tuple[Any, str]:
    """Parse JSON with or without comments, TOML or YAML; return the value, and its text."""
    try:
        text = unwrap(decode(body))
        return parse_loose(text, limits=DEFAULT_LIMITS), text
    except RefusedError as refused:
        raise SourceProblemError("not_read", f"The answer {refused.reason}.") from None


def parse_source_json(body: bytes) -> Any:
    """Parse JSON from outside; SourceProblemError if it is invalid."""
    try:
        return parse_json(decode(body), max_depth=DEFAULT_LIMITS.json_depth)
    except RefusedError as refused:
        raise SourceProblemError("not_json", f"The answer {refused.reason}.") from None
