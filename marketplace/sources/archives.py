"""Extraction of untrusted archives into a folder.

We write every file ourselves instead of the archive library, which reads the archive elsewhere.
"""

from pathlib import Path

from catalog.formats.archive_members import ARCHIVE_LIMITS, ArchiveFile, ArchiveLimits
from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError
from catalog.servers.client.archive_reader import read_archive


def unpack(body: bytes, folder: Path, *, limits: ArchiveLimits = ARCHIVE_LIMITS) -> list[Defect]:
    """Extract the files below `folder` and return what was skipped. Raises RefusedError."""
    left_out: list[Defect] = []
    for one in read_archive(body, limits=limits):
        if isinstance(one, ArchiveFile):
            _write(folder / one.path, one.content)
        else:
            left_out.append(one)
    return left_out


def strip_top_folder(folder: Path) -> Path:
    """Return the single folder that forges wrap repositories in, or the folder itself."""
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as written:
            written.write(content)
    except (OSError, ValueError) as problem:
        raise RefusedError(f"cannot be unpacked: {type(problem).__name__}") from None
