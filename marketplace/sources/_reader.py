"""Fetching and unpacking one source, with its defects and progress.

Connects to whatever address an admin entered: only through the guarded client, and without secrets.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from catalog.formats.archive_members import ARCHIVE_LIMITS, ArchiveFile, ArchiveLimits
from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError, read_bytes
from catalog.servers.client.document_readers import read_archive
from catalog.servers.net.guarded_requests import Bounds, FetchedDocument, fetch
from marketplace.models import Source
from marketplace.offers.kinds.base import parse_source_json
from marketplace.offers.offer import (
    NotModifiedError,
    SourceProblemError,
    archive_url,
    folder_in_url,
    resolve_allowed_path,
)

# Extraction of untrusted archives into a folder.
# We write every file ourselves instead of the archive library, which reads the archive elsewhere.


def unpack(body: bytes, folder: Path, *, limits: ArchiveLimits = ARCHIVE_LIMITS) -> list[Defect]:
    """Extract the files below `folder` and return what was skipped. Raises RefusedError."""
    left_out: list[Defect] = []
    for member in read_archive(body, limits=limits):
        if isinstance(member, ArchiveFile):
            path = folder / member.path
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file.write(member.content)
            except (OSError, ValueError) as problem:
                raise RefusedError(f"cannot be unpacked: {type(problem).__name__}") from None
        else:
            left_out.append(member)
    return left_out


def strip_top_folder(folder: Path) -> Path:
    """Return the single folder that forges wrap repositories in, or the folder itself."""
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


MB = 1024 * 1024
DOCUMENT = Bounds(most_bytes=20 * MB, seconds=60)
ARCHIVE = Bounds(most_bytes=60 * MB, seconds=300)
_PART = Bounds(most_bytes=30 * MB, seconds=60)
_MOST_DEFECTS = 1_000
_STATUS_MESSAGES = {
    401: "It requires a sign-in, which sources do not support.",
    403: "It requires a sign-in, which sources do not support.",
    404: "Nothing was found at this address.",
    410: "Nothing is at this address any more.",
    429: "It limits the rate of requests. Pegboard tries again at the next refresh.",
}

Fetch = Callable[..., FetchedDocument]


class SourceReading:
    """A pass over a source.

    `complete` is False if the end was not reached: then unseen listings do not count as removed.
    Plugins in `kept` were not fetched again in this pass.
    """

    def __init__(
        self, source: Source, *, fetch: Fetch = fetch, heartbeat: Callable[[], None] = lambda: None
    ) -> None:
        self.source = source
        self.kept: set[str] = set()
        self.defects: list[Defect] = []
        self.renames: dict[str, str] = {}
        self.complete = True
        self.total: int | None = None
        self.etag = self.last_modified = ""
        self._fetch = fetch
        self._heartbeat = heartbeat

    def report(self, *defects: Defect) -> None:
        """Record defects up to the limit, then a last one saying that there are more."""
        for defect in defects:
            if len(self.defects) < _MOST_DEFECTS:
                self.defects.append(defect)
            elif len(self.defects) == _MOST_DEFECTS:
                self.defects.append(Defect("", "source", "has more problems than are listed"))

    def cut_short(self, reason: str) -> None:
        """Record that the pass ends early, and why."""
        self.complete = False
        self.report(Defect(self.source.worded_location, "source", reason))

    def fetch_body(self, url: str, *, bounds: Bounds = DOCUMENT) -> bytes:
        """Fetch the body at a URL."""
        return self._request(url, {}, bounds).body

    def fetch_part(self, url: str) -> bytes:
        """Fetch the archive of one of many parts."""
        return self.fetch_body(url, bounds=_PART)

    def fetch_json(self, url: str) -> Any:
        """Fetch the JSON value at a URL."""
        return parse_source_json(self.fetch_body(url))

    def fetch_source(self, url: str, *, bounds: Bounds = DOCUMENT) -> bytes:
        """Fetch the document at the source's own URL; NotModifiedError if it has not changed."""
        validators = {
            "If-None-Match": self.source.etag,
            "If-Modified-Since": self.source.last_modified,
        }
        document = self._request(url, {k: v for k, v in validators.items() if v}, bounds)
        self.etag = document.headers.get("etag", "")[:200]
        self.last_modified = document.headers.get("last-modified", "")[:80]
        return document.body

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield the source's local folder, or a temporary folder with its archive unpacked."""
        if self.source.is_local:
            path = resolve_allowed_path(self.source.location)
            if path.is_dir():
                yield path
                return
            with self.unpacked(_local_archive(path)) as folder:
                yield folder
            return
        location = self.source.location
        body = self.fetch_source(archive_url(location), bounds=ARCHIVE)
        with self.unpacked(body, folder=folder_in_url(location)) as folder:
            yield folder

    @contextmanager
    def unpacked(self, body: bytes, *, folder: str = "") -> Iterator[Path]:
        """Yield a temporary folder with the archive's files, or its subfolder `folder`."""
        with TemporaryDirectory(prefix="pegboard-source-") as scratch:
            try:
                self.report(*unpack(body, Path(scratch)))
            except RefusedError as refused:
                words = f"The archive {refused.reason}."
                raise SourceProblemError("archive_refused", words) from None
            root = strip_top_folder(Path(scratch)) / folder
            if not root.is_dir():
                raise SourceProblemError("no_such_folder", f"It has no folder {folder}.")
            yield root

    def unpack(self, body: bytes, folder: Path) -> None:
        """Extract an archive into a folder, and report what was left out."""
        self.report(*unpack(body, folder))

    def _request(self, url: str, headers: Mapping[str, str], bounds: Bounds) -> FetchedDocument:
        self._heartbeat()
        document = self._fetch(url, headers=headers, bounds=bounds)
        if document.status == 304 and headers:
            raise NotModifiedError
        if document.status != 200:
            words = _STATUS_MESSAGES.get(document.status, "It cannot respond at the moment.")
            raise SourceProblemError(f"status_{document.status}", words)
        return document


def _local_archive(path: Path) -> bytes:
    try:
        return read_bytes(path, path.parent, limit=ARCHIVE.most_bytes)
    except RefusedError as refused:
        raise SourceProblemError("archive_refused", f"The file {refused.reason}.") from None
