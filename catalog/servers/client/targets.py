"""Connection targets: a local command, an HTTP address, or an API with its document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.servers.cell.command import Cell


@dataclass(frozen=True, slots=True)
class Sealed:
    """A folder whose code must match the digest taken at installation."""

    folder: Path
    digest: str
    compiled: str = ""  # digest of its compiled modules, if they are used


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A program speaking MCP on its standard streams. Its environment never appears in a repr."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    # A persistent folder; without one, a scratch folder is deleted with the server.
    home: Path | None = None
    sealed: Sealed | None = None
    # None runs it as a process of Pegboard's own account.
    cell: Cell | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """An address speaking MCP; `sse` is the transport of 2024. Headers never appear in a repr."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: Literal["http", "sse"] = "http"

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            if not can_be_sent(name, DeclaredBy.SERVER) or not _HEADER.fullmatch(value):
                raise ValueError(f"The header {name[:100]!r} cannot be sent.")


@dataclass(frozen=True, slots=True)
class ApiServer:
    """An HTTP API with an OpenAPI document. Its secrets never appear in a repr.

    `document` is the document's text, or else `document_url` its address. Calls need neither.
    """

    url: str
    schemes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    document: str = field(default="", repr=False, compare=False)
    document_url: str = field(default="", compare=False)
    chosen: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


Server = StdioServer | HttpServer | ApiServer
_HEADER = re.compile(r"[\x20-\x7e]{0,16384}")


# Resource limits of one server.

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """All limits of one server; tests shorten the times."""

    connect_seconds: float = 30.0
    list_seconds: float = 30.0
    call_seconds: float = 60.0
    # Wait after closing its input, again after SIGTERM, and then kill it.
    goodbye_seconds: float = 1.0
    line_bytes: int = 1 * MB
    body_bytes: int = 5 * MB
    pages: int = 50
    tools: int = 1_000
    # Unsolicited messages per minute: notifications, requests to us, responses to no request.
    unsolicited_messages: int = 1_000
    unsolicited_bytes: int = 10 * MB
    # Lines that are no messages, per minute: some servers log to stdout, and the Python SDK says
    # of a method that it does not know in a hundred lines why it is none of the others.
    garbage_lines: int = 500
    last_words_bytes: int = 4 * KB
    # For the whole process tree. Not by RLIMIT_AS, because Node does not start under it.
    memory_bytes: int = 1024 * MB
    processes: int = 64
    cpu_seconds: int = 3_600
    # At once, where the kernel limits it (`control_groups`).
    cpu_cores: float = 2.0
    file_bytes: int = 1024 * MB
    open_files: int = 1_024
    # In a cell: what its lasting folder may hold.
    disk_bytes: int = 512 * MB


DEFAULT_LIMITS = ServerLimits()
