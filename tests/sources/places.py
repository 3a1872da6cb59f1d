"""A local web server in the role of registries, archives and hostile hosts."""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.local_servers import Handler, serve

SHARED = Path(__file__).resolve().parents[3] / "shared"
SAMPLES = SHARED / "samples"
MB = 1024 * 1024


@dataclass
class Place:
    """Documents by path, and recorded requests."""

    port: int = 0
    documents: dict[str, bytes] = field(default_factory=dict)
    registries: dict[str, list[Any]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    endless: dict[str, bool] = field(default_factory=dict)
    hits: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    per_page: int = 40

    def at(self, path: str) -> str:
        """Return the URL of a path."""
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, target: str, known: str | None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a request."""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if path in self.redirects:
            return 302, {"Location": self.redirects[path]}, b""
        if path in self.endless:
            return 200, {}, self._endless(path, query)
        if path in self.registries:
            return 200, {}, self._page(self.registries[path], query)
        if path not in self.documents:
            return 404, {}, b"{}"
        body = self.documents[path]
        tag = f'"{sha256(body).hexdigest()[:16]}"'
        return (304, {}, b"") if known == tag else (200, {"ETag": tag}, body)

    def _page(self, servers: list[Any], query: dict[str, list[str]]) -> bytes:
        begin = int(query.get("cursor", ["0"])[0])
        end = begin + self.per_page
        metadata: dict[str, Any] = {"count": len(servers[begin:end])}
        if end < len(servers):
            metadata["nextCursor"] = str(end)
        return json.dumps({"servers": servers[begin:end], "metadata": metadata}).encode()

    def _endless(self, path: str, query: dict[str, list[str]]) -> bytes:
        """Yield pages with endless cursors: always another, or always the same."""
        number = int(query.get("cursor", ["0"])[0]) + int(self.endless[path])
        return json.dumps({"servers": [], "metadata": {"nextCursor": str(number)}}).encode()


@contextmanager
def place() -> Iterator[Place]:
    """Run the server."""
    played = Place()

    class Documents(Handler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            played.hits.append(self.path)
            status, headers, body = played.answer(self.path, self.headers.get("If-None-Match"))
            played.statuses.append(status)
            self.reply(status, body, headers)

    with serve(Documents) as server:
        played.port = server.server_port
        yield played


def tar_of(files: Mapping[str, bytes | str], *members: tarfile.TarInfo) -> bytes:
    """Build a tar.gz of these files, and of members that are no regular files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for member in members:
            tar.addfile(member)
    return packed.getvalue()


def tar_of_folder(folder: Path, *, below: str) -> bytes:
    """Build a tar.gz as a forge does: everything below one folder."""
    files = {
        f"{below}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return tar_of(files)


def registry_servers() -> list[Any]:
    """Return all entries of the sample pages, with all stored versions."""
    pages = sorted((SAMPLES / "mcp-registry-api").glob("*.json"))
    pages += sorted((SAMPLES / "mcp-registry-server-json" / "versions").glob("*.json"))
    return [one for page in pages for one in json.loads(page.read_text())["servers"]]
