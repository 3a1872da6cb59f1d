"""Reading one source: what is fetched and unpacked for it, what was wrong, and how far it is.

Talks to whatever address an admin has given, through the guarded client alone, without any secret.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError, decode, parse_json, read_bytes
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.servers.net.guarded_fetch import Bounds, Document, fetch
from marketplace.models import Source
from marketplace.sources.archives import only_folder, unpack
from marketplace.sources.repositories import archive_of, folder_of
from marketplace.sources.source_location import allowed_path
from marketplace.sources.source_problem import NotModifiedError, SourceProblemError

MB = 1024 * 1024
DOCUMENT = Bounds(most_bytes=20 * MB, seconds=60)
ARCHIVE = Bounds(most_bytes=60 * MB, seconds=300)
_MOST_DEFECTS = 1_000
_WORDS = {
    401: "It wants somebody to sign in, which sources cannot.",
    403: "It wants somebody to sign in, which sources cannot.",
    404: "There is nothing at this address.",
    410: "There is nothing at this address any more.",
    429: "It was asked too often; it is asked again at the next refresh.",
}

Fetch = Callable[..., Document]


class Reading:
    """One pass over a source. `complete` is False where an end was not reached: then nothing that
    was not seen counts as gone. What comes from a plugin in `kept` was not looked at again."""

    def __init__(
        self, source: Source, *, fetch: Fetch = fetch, alive: Callable[[], None] = lambda: None
    ) -> None:
        self.source = source
        self.kept: set[str] = set()
        self.defects: list[Defect] = []
        self.renames: dict[str, str] = {}
        self.complete = True
        self.total: int | None = None
        self.etag = self.last_modified = ""
        self._fetch = fetch
        self._alive = alive

    def report(self, *defects: Defect) -> None:
        """Note what could not be read; past the cap, that there is more."""
        for defect in defects:
            if len(self.defects) < _MOST_DEFECTS:
                self.defects.append(defect)
            elif len(self.defects) == _MOST_DEFECTS:
                self.defects.append(Defect("", "source", "has more faults than are listed"))

    def cut_short(self, reason: str) -> None:
        """Note that the end was not reached, and why."""
        self.complete = False
        self.report(Defect(self.source.location, "source", reason))

    def body(self, url: str, *, bounds: Bounds = DOCUMENT) -> bytes:
        """What is at the address."""
        return self._asked(url, {}, bounds).body

    def json(self, url: str) -> Any:
        """The JSON value at the address."""
        return parsed(self.body(url))

    def whole(self, url: str, *, bounds: Bounds = DOCUMENT) -> bytes:
        """What is at the address that is all of the source; NotModifiedError where it is what it
        was."""
        known = {"If-None-Match": self.source.etag, "If-Modified-Since": self.source.last_modified}
        document = self._asked(url, {k: v for k, v in known.items() if v}, bounds)
        self.etag = document.headers.get("etag", "")[:200]
        self.last_modified = document.headers.get("last-modified", "")[:80]
        return document.body

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """The source's folder: the one on this machine, or its archive unpacked for a while."""
        if self.source.is_local:
            path = allowed_path(self.source.location)
            if path.is_dir():
                yield path
                return
            with self.unpacked(_local_archive(path)) as folder:
                yield folder
            return
        location = self.source.location
        body = self.whole(archive_of(location), bounds=ARCHIVE)
        with self.unpacked(body, folder=folder_of(location)) as folder:
            yield folder

    @contextmanager
    def unpacked(self, body: bytes, *, folder: str = "") -> Iterator[Path]:
        """The archive's files, for a while; only those below `folder` if one is named."""
        with TemporaryDirectory(prefix="pegboard-source-") as scratch:
            try:
                self.report(*unpack(body, Path(scratch)))
            except RefusedError as refused:
                words = f"The archive {refused.reason}."
                raise SourceProblemError("archive_refused", words) from None
            root = only_folder(Path(scratch)) / folder
            if not root.is_dir():
                raise SourceProblemError("no_such_folder", f"It has no folder {folder}.")
            yield root

    def _asked(self, url: str, headers: Mapping[str, str], bounds: Bounds) -> Document:
        self._alive()
        document = self._fetch(url, headers=headers, bounds=bounds)
        if document.status == 304 and headers:
            raise NotModifiedError
        if document.status != 200:
            words = _WORDS.get(document.status, "It cannot answer at the moment.")
            raise SourceProblemError(f"status_{document.status}", words)
        return document


def _local_archive(path: Path) -> bytes:
    try:
        return read_bytes(path, path.parent, limit=ARCHIVE.most_bytes)
    except RefusedError as refused:
        raise SourceProblemError("archive_refused", f"The file {refused.reason}.") from None


def parsed(body: bytes) -> Any:
    """JSON from outside; SourceProblemError where it is none."""
    try:
        return parse_json(decode(body), max_depth=DEFAULT_LIMITS.json_depth)
    except RefusedError as refused:
        raise SourceProblemError("not_json", f"The answer {refused.reason}.") from None
