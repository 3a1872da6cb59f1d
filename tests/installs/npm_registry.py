"""A small npm registry on the loopback, which knows the tarballs that were asked for."""

import hashlib
import io
import json
import tarfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote


class Registry:
    """Packages by name; `asked` has the paths of tarballs that were fetched."""

    def __init__(self) -> None:
        self.address = ""
        self.asked: list[str] = []
        self._packuments: dict[str, dict[str, Any]] = {}
        self._tarballs: dict[str, bytes] = {}

    def add(
        self, name: str, files: Mapping[str, str], *, version: str = "1.0.0", **manifest: Any
    ) -> str:
        """Add a package of these files, and return its integrity."""
        about = {"name": name, "version": version, **manifest}
        body = make_tarball({"package/package.json": json.dumps(about), **files})
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        integrity = f"sha512-{b64encode(hashlib.sha512(body).digest()).decode()}"
        dist = {"tarball": f"{self.address}{path}", "integrity": integrity}
        packument = self._packuments.setdefault(name, {"name": name, "versions": {}})
        packument["versions"][version] = about | {"dist": dist}
        packument["dist-tags"] = {"latest": version}
        self._tarballs[path] = body
        return integrity

    def answer(self, path: str) -> bytes | None:
        """Return what is at a path."""
        if path in self._tarballs:
            self.asked.append(path)
            return self._tarballs[path]
        packument = self._packuments.get(path[1:])
        return json.dumps(packument).encode() if packument else None


def make_tarball(files: Mapping[str, str], *links: tuple[str, str]) -> bytes:
    """Return a tarball of texts by path, with symbolic links after them."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(text), 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
        for path, target in links:
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return written.getvalue()


@contextmanager
def serve_registry() -> Iterator[Registry]:
    """Serve a registry until the block ends."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = registry.answer(unquote(self.path))
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
