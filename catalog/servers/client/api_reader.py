"""OpenAPI documents, read apart and checked again: what a reader answers is a stranger's word.

A document whose reader was broken may say what any document may say, and nothing else: kind,
transport and address are looked at here, and its tools pass the same cleaning and review as those
of any server.
"""

import re
import zlib
from functools import cache
from hashlib import sha256
from io import BytesIO
from threading import Lock
from typing import Any

from cachetools import LRUCache
from pydantic import TypeAdapter

from acl.platform import strict_json
from catalog.formats.descriptors import IntegrationDescriptor, canonical_json
from catalog.formats.files import RefusedError
from catalog.formats.names import SLUG
from catalog.formats.openapi.api_document import MOST_OPERATIONS
from catalog.formats.openapi.api_names import LONGEST_ACTION
from catalog.formats.openapi.api_operations import HTTP, ApiOperation
from catalog.formats.read_limits import DEFAULT_LIMITS as LIMITS
from catalog.formats.readers.openapi import TRANSPORT, ReadApi, parse_api
from catalog.servers.cell.support import cells_wanted
from catalog.servers.client.reader_process import BOUNDS, ReaderBounds, read_apart
from catalog.servers.client.server_problems import ServerProblemError

_DEEPEST = 100
_ODD = "cannot be read: its reader gave no usable answer"
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST_ACTION}}}")
_KEPT, _KEPT_BYTES = 16, 1_000_000


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
