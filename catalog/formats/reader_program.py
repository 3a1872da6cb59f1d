"""Main module of the program for one document of a stranger, apart from Pegboard.

It gets a line of JSON with what to do and the document on its input. It writes one value of JSON;
of an archive, a line of JSON before each file; of a picture, a line of JSON and its pixels. It
imports no Django, no database and nothing that the formats do not need, since it starts anew for
each document, in a cell where there is nothing else.
"""

import json
import resource
import sys
from dataclasses import asdict
from typing import Any

from catalog.formats.files import RefusedError, decode

LONGEST_REQUEST = 1_000_000
# Of an archive: a path, or a reason, as JSON writes it.
LONGEST_LINE = 8_000
_LONGEST_NAME = 500
# Packages that the formats of documents need, beside the standard library.
PACKAGES = (
    *("yaml", "_yaml", "nh3", "regex", "openapi_pydantic", "pydantic", "pydantic_core"),
    *("annotated_types", "typing_inspection", "typing_extensions", "jsonschema_rs", "anyascii"),
)
# And those that pictures need, which no other document is shown.
PICTURE_PACKAGES = ("PIL",)


def main() -> int:
    """Read the input and write the answer; return the exit code."""
    request = json.loads(sys.stdin.buffer.readline(LONGEST_REQUEST))
    # Refuse memory beyond the limit at once; the guard only looks now and then.
    most = request["memory_bytes"]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux" and (hard == resource.RLIM_INFINITY or most < hard):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    document = sys.stdin.buffer.read()
    if request["what"] == "archive":
        _write_archive(document, request["options"])
        return 0
    if request["what"] == "picture":
        _write_pixels(document)
        return 0
    if request["what"] in ("pattern", "page"):
        from catalog.formats.apart import read_page, search_pattern

        work = search_pattern if request["what"] == "pattern" else read_page
        try:
            result = work(document, request["options"])
        except (MemoryError, RecursionError):
            result = {"refused": "That takes too much memory."}
        sys.stdout.write(_as_json(result))
        return 0
    try:
        answer: dict[str, Any] = {"read": _read_api(document, request["options"])}
    except RefusedError as refused:
        answer = {"refused": [refused.reason, refused.field]}
    sys.stdout.write(_as_json(answer))
    sys.stdout.flush()
    return 0


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _write_archive(body: bytes, options: dict[str, Any]) -> None:
    from catalog.formats.archive_members import ArchiveFile, ArchiveLimits, read_members

    def write(line: dict[str, Any], content: bytes = b"") -> None:
        sys.stdout.buffer.write(_as_json(line).encode() + b"\n" + content)

    try:
        for member in read_members(body, limits=ArchiveLimits(**options)):
            if isinstance(member, ArchiveFile):
                write({"file": member.path, "size": len(member.content)}, member.content)
            else:
                write({"left_out": [member.file[:_LONGEST_NAME], member.reason]})
        write({"end": True})
    except RefusedError as refused:
        write({"refused": refused.reason})
    except (MemoryError, RecursionError):
        write({"refused": "needs too much memory to read"})
    sys.stdout.buffer.flush()


def _write_pixels(content: bytes) -> None:
    from catalog.formats.icon_pixels import draw_pixels

    line: dict[str, Any] = {"drawn": True}
    pixels = b""
    try:
        pixels = draw_pixels(content)
    except RefusedError as refused:
        line = {"refused": refused.reason}
    sys.stdout.buffer.write(_as_json(line).encode() + b"\n" + pixels)
    sys.stdout.buffer.flush()


def _read_api(document: bytes, options: dict[str, Any]) -> dict[str, Any]:
    # Only now, so that a request that is none costs nothing.
    from catalog.formats.readers.openapi import parse_api

    try:
        return asdict(parse_api(decode(document), **options))
    except (MemoryError, RecursionError):
        raise RefusedError("needs too much memory to read") from None


if __name__ == "__main__":
    sys.exit(main())
