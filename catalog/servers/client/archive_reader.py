"""Archives, unpacked apart: their files come back one after the other and are checked again.

A reader that was broken may name any file that an archive may have, and nothing else: paths, sizes
and numbers are looked at here, whatever it says.
"""

from collections.abc import Iterator
from dataclasses import asdict
from tempfile import TemporaryFile
from typing import IO, Any

from acl.platform import strict_json
from catalog.formats.archive_members import (
    ARCHIVE_LIMITS,
    ArchiveFile,
    ArchiveLimits,
    check_path,
    read_members,
)
from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.reader_program import LONGEST_LINE
from catalog.servers.cell.support import cells_wanted
from catalog.servers.client.reader_process import MB, ReaderBounds, read_apart
from catalog.servers.client.server_problems import ServerProblemError

_ODD = "cannot be unpacked: its reader gave no usable answer"
_DEEPEST = 5


def read_archive(
    body: bytes, *, limits: ArchiveLimits = ARCHIVE_LIMITS
) -> Iterator[ArchiveFile | Defect]:
    """Yield an archive's files and what is left out, read in a cell unless these are off.

    RefusedError also where nothing is read without a cell.
    """
    if not cells_wanted():
        yield from read_members(body, limits=limits)
        return
    bounds = ReaderBounds(
        memory_bytes=512 * MB, answer_bytes=limits.total + limits.members * LONGEST_LINE
    )
    with TemporaryFile() as answer:
        try:
            read_apart(body, asdict(limits), what="archive", bounds=bounds, into=answer)
        except ServerProblemError as problem:
            raise RefusedError(f"is not read: {problem.detail}") from None
        answer.seek(0)
        yield from _restore(answer, limits)


def _restore(answer: IO[bytes], limits: ArchiveLimits) -> Iterator[ArchiveFile | Defect]:
    """Yield what an answer names; RefusedError for anything that no archive may have."""
    names: set[str] = set()
    total = members = 0
    while "end" not in (line := _read_line(answer)):
        members += 1
        if members > limits.members:
            raise RefusedError(_ODD)
        if "refused" in line:
            raise RefusedError(str(line["refused"])[: DEFAULT_LIMITS.reason])
        if "left_out" in line:
            file, reason = map(str, line["left_out"])
            yield Defect(file[: limits.name], "file", reason[: DEFAULT_LIMITS.reason])
            continue
        size = line["size"]
        total += size
        if not 0 <= size <= limits.file or total > limits.total:
            raise RefusedError(_ODD)
        content = answer.read(size)
        if len(content) < size:
            raise RefusedError(_ODD)
        yield ArchiveFile(check_path(line["file"], names, limits), content)


def _read_line(answer: IO[bytes]) -> dict[str, Any]:
    """Return one line that is an end, a refusal, something left out, or a file's head."""
    try:
        line = strict_json.parse_json(
            answer.readline(LONGEST_LINE).decode(), max_depth=_DEEPEST, any_text=True
        )
        is_file = isinstance(line["file"], str) and type(line["size"]) is int
    except KeyError:
        is_file = False
    except (TypeError, ValueError):
        raise RefusedError(_ODD) from None
    if is_file or line.keys() & {"end", "refused"} or len(line.get("left_out") or ()) == 2:
        return dict(line)
    raise RefusedError(_ODD)
