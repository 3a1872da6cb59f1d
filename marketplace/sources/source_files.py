"""Entries that lie in files: each file is read by the catalogue's formats, one at a time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.files import RefusedError, read_text
from catalog.formats.loader import load_path
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.source_folders import find_sources, shown
from marketplace.sources.source_reader import Reading

_READMES = ("README.md", "readme.md", "Readme.md")


def loaded_files(root: Path, reading: Reading, *, named: str = "") -> Iterator[tuple[Path, Loaded]]:
    """What each file below the folder gives, or only those of a name; faults name the file within
    the folder."""
    found = find_sources(root, DEFAULT_LIMITS)
    reading.report(*found.defects)
    files = [path for path in found.files if not named or path.name == named]
    reading.total = len(files)
    for path in files:
        yield path, loaded_file(path, found.root, reading)


def loaded_file(path: Path, root: Path, reading: Reading) -> Loaded:
    """What one file gives."""
    loaded = load_path(path)
    name = shown(path, root)
    reading.report(*(replace(one, file=_named(one, path, name)) for one in loaded.defects))
    return loaded


def of_formats(loaded: Loaded, formats: frozenset[str], name: str, reading: Reading) -> Loaded:
    """The part of a file that this kind of source is for; what is not is told."""
    kept = tuple(one for one in loaded.integrations if one.source_ref.get("format") in formats)
    if len(kept) < len(loaded.integrations) or (loaded.capabilities and not loaded.integrations):
        reading.report(Defect(name, "file", "is of a format that this kind of source is not for"))
    return replace(loaded, integrations=kept)


def readme_in(folder: Path) -> str:
    """The README that lies in a folder, as far as it is kept."""
    for name in _READMES:
        try:
            return read_text(folder / name, folder, limit=DEFAULT_LIMITS.content)
        except RefusedError:
            continue
    return ""


def _named(defect: Defect, path: Path, name: str) -> str:
    """The file of a defect, which may be one beside the file that was read."""
    folder, slash, _ = name.rpartition("/")
    return name if defect.file == path.name else f"{folder}{slash}{defect.file}"
