"""Folders and repositories of skills: each SKILL.md with the files in its folder.

Files are stored as they are, so that installing needs no network. None of them is executed.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from django.utils.translation import gettext_lazy as _

from catalog.formats import skill
from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.files import DEFAULT_LIMITS, RefusedError, read_bytes
from catalog.formats.source_folders import SKIPPED_FOLDERS, display_path, find_sources
from marketplace.offers.kinds.base import ARCHIVE_HINT, SourceAccess, load_files
from marketplace.offers.offer import Offer, OfferedFile, offer_of

LABEL = _("Folder of skills")
HINT = ARCHIVE_HINT
IS_INTERNAL = False
PLACE = "archive"
SUGGESTED = (("Superpowers, skills", "https://github.com/obra/superpowers"),)
MB = 1024 * 1024
MOST_FILES = 200
MOST_BYTES = 5 * MB
_MOST_OF_FILE = 1 * MB
_DEPTH = 6


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield every skill below the folder."""
    with reading.folder() as root:
        for path, loaded in load_files(root, reading, is_wanted=skill.is_skill_file):
            yield from skill_offers(path, root, loaded, reading)
        for archive in find_sources(root, DEFAULT_LIMITS).files:
            if archive.suffix.lower() == skill.ARCHIVE_SUFFIX:
                yield from archived_offers(archive, root, reading)


def archived_offers(archive: Path, root: Path, reading: SourceAccess) -> Iterator[Offer]:
    """Yield the skill of a `.skill` archive, named by its folder there or by the archive."""
    try:
        body = read_bytes(archive, root, limit=MOST_BYTES)
        with TemporaryDirectory(prefix="pegboard-skill-") as scratch:
            folder = Path(scratch) / archive.stem
            reading.unpack(body, folder)
            for path, loaded in load_files(folder, reading, is_wanted=skill.is_skill_file):
                yield from skill_offers(path, Path(scratch), loaded, reading)
    except RefusedError as refused:
        reading.report(Defect(display_path(archive, root), "file", refused.reason))


def skill_offers(path: Path, root: Path, loaded: Loaded, reading: SourceAccess) -> Iterator[Offer]:
    """Yield the skill of a SKILL.md, with the files in its folder."""
    for capability in loaded.capabilities:
        integration = next(
            candidate
            for candidate in loaded.integrations
            if candidate.slug == capability.integration
        )
        try:
            files = tuple(_files(path.parent, reading, root))
        except RefusedError as refused:
            reading.report(Defect(display_path(path.parent, root), "files", refused.reason))
            continue
        # Hash all paths and contents.
        digest = sha256()
        for file in files:
            digest.update(f"{len(file.path)} {file.path} {len(file.content)} ".encode())
            digest.update(file.content)
        yield offer_of(
            integration,
            category=capability.category,
            tags=capability.tags,
            readme=capability.content,
            files=files,
            details={"files": digest.hexdigest(), "folder": display_path(path.parent, root)},
        )


def _files(folder: Path, reading: SourceAccess, root: Path) -> Iterator[OfferedFile]:
    """Yield the folder's regular files; RefusedError if they exceed the limits."""
    number = total = 0
    for path in _walk(folder, _DEPTH):
        try:
            content = read_bytes(path, folder, limit=_MOST_OF_FILE)
        except RefusedError as refused:
            reading.report(Defect(display_path(path, root), "file", refused.reason))
            continue
        number, total = number + 1, total + len(content)
        if number > MOST_FILES or total > MOST_BYTES:
            raise RefusedError(f"has more than {MOST_FILES} files or {MOST_BYTES:,} bytes")
        yield OfferedFile(path.relative_to(folder).as_posix(), content)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
        elif depth and entry.name not in SKIPPED_FOLDERS:
            yield from _walk(Path(entry.path), depth - 1)
