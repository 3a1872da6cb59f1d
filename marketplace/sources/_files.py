"""Entries in files, read one at a time by the catalogue's formats."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.files import RefusedError, read_text
from catalog.formats.loader import load_path
from catalog.formats.openapi.document_format import refuse_api
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.source_folders import display_path, find_sources
from marketplace.sources._reader import SourceReading

_READMES = ("README.md", "readme.md", "Readme.md")


def load_files(
    root: Path, reading: SourceReading, *, is_wanted: Callable[[str], bool] = bool
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


def load_file(path: Path, root: Path, reading: SourceReading) -> Loaded:
    """Load one file and report its defects; no kind of source keeps OpenAPI documents."""
    loaded = load_path(path, read_api=refuse_api)
    name = display_path(path, root)
    reading.report(
        *(replace(defect, file=_defect_path(defect, path, name)) for defect in loaded.defects)
    )
    return loaded


def keep_formats(
    loaded: Loaded, formats: frozenset[str], name: str, reading: SourceReading
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
