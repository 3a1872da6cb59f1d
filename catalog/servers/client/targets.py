"""How a server is reached: a command that is started, or an address that is asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Sealed:
    """A folder whose code must be what it was when it was installed."""

    folder: Path
    digest: str


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A program that speaks MCP on its standard streams. Its environment is not shown anywhere."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Where it may keep something; without it the folder is gone when the server is.
    home: Path | None = None
    sealed: Sealed | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """An address that speaks MCP; `sse` is the way of 2024. Its headers are not shown anywhere."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: Literal["http", "sse"] = "http"

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", name) or not _HEADER.fullmatch(value):
                raise ValueError(f"The header {name[:100]!r} cannot be sent.")


Server = StdioServer | HttpServer
_HEADER = re.compile(r"[\x20-\x7e]{0,16384}")
