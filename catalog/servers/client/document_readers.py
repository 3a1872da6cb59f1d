"""OpenAPI documents and archives, read apart and checked again here."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from io import BytesIO
from tempfile import TemporaryFile
from threading import Lock
from time import monotonic
from typing import IO, Any
from urllib.parse import urlsplit

from cachetools import LRUCache
from pydantic import TypeAdapter

from acl.platform import strict_json
from catalog.formats.archive_members import (
    ARCHIVE_LIMITS,
    ArchiveFile,
    ArchiveLimits,
    check_path,
    read_members,
)
from catalog.formats.descriptors import Defect, IntegrationDescriptor, canonical_json
from catalog.formats.files import DEFAULT_LIMITS, RefusedError, decode
from catalog.formats.files import DEFAULT_LIMITS as LIMITS
from catalog.formats.names import SLUG
from catalog.formats.openapi.api_document import LIMITS as API_LIMITS
from catalog.formats.openapi.api_document import (
    MOST_OPERATIONS,
    collect_parts,
    find_root,
    join_files,
)
from catalog.formats.openapi.api_names import LONGEST_ACTION
from catalog.formats.openapi.api_operations import HTTP, ApiOperation
from catalog.formats.reader_program import LONGEST_LINE
from catalog.formats.readers.openapi import TRANSPORT, ReadApi, parse_api
from catalog.servers.cell.support import cells_wanted
from catalog.servers.client.reader_process import BOUNDS, MB, ReaderBounds, read_apart
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.net.address_check import AllowedHosts, OutgoingError
from catalog.servers.net.guarded_requests import Bounds, fetch

# OpenAPI documents, read apart and checked again: what a reader answers is a stranger's word.
#
# A document whose reader was broken may say what any document may say, and nothing else: kind,
# transport and address are looked at here, and its tools pass the same cleaning and review as those
# of any server.

_DEEPEST = 100
_ODD = "cannot be read: its reader gave no usable answer"
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST_ACTION}}}")
_KEPT, _KEPT_BYTES = 16, 1_000_000
_SECONDS_FOR_PARTS, _SECONDS_FOR_PART = 45, 10


def read_api_text(text: str, *, bounds: ReaderBounds = BOUNDS, **options: Any) -> ReadApi:
    """Read the text of a document as `read_api` does, in a cell unless these are off.

    RefusedError says why it is not read; ServerProblemError, why nothing is.
    """
    if not cells_wanted():
        return parse_api(text, **options)
    document = text.encode("utf-8", "surrogatepass")
    key = sha256(canonical_json(options).encode() + b"\n" + document).digest()
    # What was read once, is not read anew at each comparison of definitions.
    if stored := _answers.find(key):
        return _restore(stored)
    answer = BytesIO()
    read_apart(document, options, bounds=bounds, into=answer)
    content = answer.getvalue()
    api = _restore(content)
    _answers.keep(key, content)
    return api


def read_api_file(text: str, *, file: str, slug: str) -> ReadApi:
    """Read a document of an import; RefusedError also where no document is read."""
    try:
        return read_api_text(text, file=file, slug=slug)
    except ServerProblemError as problem:
        raise RefusedError(f"is not read: {problem.detail}") from None


def fetch_parts(text: str, address: str, *, allowed: AllowedHosts | None = None) -> str:
    """Return a document with the parts that it refers to, fetched from its own origin alone.

    Nothing is sent along. What another host has is named, and not asked for: whoever wants it
    adds the parts together.
    """
    deadline = monotonic() + _SECONDS_FOR_PARTS

    def read(place: str) -> str:
        if urlsplit(place)[:2] != urlsplit(address)[:2]:
            raise RefusedError("is on another host: add the parts together")
        seconds = min(deadline - monotonic(), _SECONDS_FOR_PART)
        if seconds <= 0:
            raise RefusedError(f"is not there within {_SECONDS_FOR_PARTS} seconds")
        bounds = Bounds(most_bytes=API_LIMITS.file, seconds=seconds, same_origin=True)
        try:
            answer = fetch(place, bounds=bounds, allowed=allowed)
        except OutgoingError as problem:
            raise RefusedError(f"is not fetched: {problem.code}") from None
        if answer.status != HTTPStatus.OK:
            raise RefusedError(f"answers {answer.status}")
        return decode(answer.body)

    return collect_parts(text, address, read)


def join_archive(body: bytes) -> str:
    """Return the document of an archive, with its parts; RefusedError if there is none."""
    texts: dict[str, str] = {}
    for member in read_archive(body, limits=ARCHIVE_LIMITS):
        if isinstance(member, ArchiveFile) and member.path.endswith((".yaml", ".yml", ".json")):
            try:
                texts[member.path] = decode(member.content)
            except RefusedError:  # no text, so no part of it
                continue
    root = find_root(texts)
    if root is None:
        raise RefusedError("has no OpenAPI document")
    return join_files(texts, root)


class _Answers:
    """The answers of the documents read last, packed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._packed: LRUCache[bytes, bytes] = LRUCache(_KEPT)

    def find(self, key: bytes) -> bytes:
        """Return a kept answer, or nothing."""
        with self._lock:
            packed = self._packed.get(key)
        return zlib.decompress(packed) if packed else b""

    def keep(self, key: bytes, answer: bytes) -> None:
        """Keep an answer unless it is large; the one that was asked for longest ago goes."""
        packed = zlib.compress(answer, 1)
        if len(packed) <= _KEPT_BYTES:
            with self._lock:
                self._packed[key] = packed


_answers = _Answers()


def _restore(answer: bytes) -> ReadApi:
    """Return the reading that an answer stands for; RefusedError for anything else."""
    try:
        value = strict_json.parse_json(answer.decode(), max_depth=_DEEPEST, any_text=True)
        if refused := value.get("refused"):
            reason, field = refused
            raise RefusedError(str(reason)[: LIMITS.reason], str(field)[: LIMITS.reason])
        api = _shape().validate_python(value["read"])
    except (AttributeError, KeyError, TypeError, ValueError) as odd:
        raise RefusedError(_ODD) from odd
    if not _is_plausible(api.integration) or not 0 < len(api.operations) <= MOST_OPERATIONS:
        raise RefusedError(_ODD)
    if not all(map(_is_tool, api.operations)):
        raise RefusedError(_ODD, "paths")
    return api


@cache
def _shape() -> TypeAdapter[ReadApi]:
    return TypeAdapter(ReadApi)


def _is_plausible(descriptor: IntegrationDescriptor) -> bool:
    return (
        (descriptor.kind, descriptor.transport) == ("openapi", TRANSPORT)
        and bool(SLUG.fullmatch(descriptor.slug))
        and descriptor.endpoint.startswith(("https://", "http://"))
        and len(descriptor.endpoint) <= LIMITS.address
        and 0 < len(descriptor.title) <= LIMITS.name
        and len(descriptor.description) <= LIMITS.description
        and len(descriptor.version) <= LIMITS.version
        and not descriptor.command
    )


def _is_tool(operation: ApiOperation) -> bool:
    """Return True for a tool that is the operation it says, sent as the operation says."""
    annotations = operation.tool.get("annotations")
    sending = annotations.get(HTTP) if isinstance(annotations, dict) else None
    return (
        bool(_NAME.fullmatch(operation.name))
        and operation.tool.get("name") == operation.name
        and isinstance(operation.tool.get("inputSchema"), dict)
        and isinstance(sending, dict)
        and sending.get("method") == operation.method
        and sending.get("path") == operation.path
    )


# Archives, unpacked apart: their files come back one after the other and are checked again.
#
# A reader that was broken may name any file that an archive may have, and nothing else: paths,
# sizes and numbers are looked at here, whatever it says.

_ODD_ARCHIVE = "cannot be unpacked: its reader gave no usable answer"
_DEEPEST_ARCHIVE = 5


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
        yield from _restore_files(answer, limits)


def _restore_files(answer: IO[bytes], limits: ArchiveLimits) -> Iterator[ArchiveFile | Defect]:
    """Yield what an answer names; RefusedError for anything that no archive may have."""
    names: set[str] = set()
    total = members = 0
    while "end" not in (line := _read_line(answer)):
        members += 1
        if members > limits.members:
            raise RefusedError(_ODD_ARCHIVE)
        if "refused" in line:
            raise RefusedError(str(line["refused"])[: DEFAULT_LIMITS.reason])
        if "left_out" in line:
            file, reason = map(str, line["left_out"])
            yield Defect(file[: limits.name], "file", reason[: DEFAULT_LIMITS.reason])
            continue
        size = line["size"]
        total += size
        if not 0 <= size <= limits.file or total > limits.total:
            raise RefusedError(_ODD_ARCHIVE)
        content = answer.read(size)
        if len(content) < size:
            raise RefusedError(_ODD_ARCHIVE)
        yield ArchiveFile(check_path(line["file"], names, limits), content)


def _read_line(answer: IO[bytes]) -> dict[str, Any]:
    """Return one line that is an end, a refusal, something left out, or a file's head."""
    try:
        line = strict_json.parse_json(
            answer.readline(LONGEST_LINE).decode(), max_depth=_DEEPEST_ARCHIVE, any_text=True
        )
        is_file = isinstance(line["file"], str) and type(line["size"]) is int
    except KeyError:
        is_file = False
    except (TypeError, ValueError):
        raise RefusedError(_ODD_ARCHIVE) from None
    if is_file or line.keys() & {"end", "refused"} or len(line.get("left_out") or ()) == 2:
        return dict(line)
    raise RefusedError(_ODD_ARCHIVE)
