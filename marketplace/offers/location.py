"""Locations of sources: public https URLs, archives of repositories, and allowed folders.

We never run `git`: only the guarded HTTP client goes out.
"""

import re
from pathlib import Path
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from catalog.formats.files import RefusedError

# Errors of reading a source, with messages that say what to do.


class SourceProblemError(Exception):
    """The source as a whole cannot be read. `reason` is a code for machines."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class NotModifiedError(Exception):
    """The source did not change since the last reading."""


class LocationNotAllowedError(Exception):
    """Path that does not exist, or is not below a folder in PEGBOARD_SOURCE_DIRS."""

    code = "location_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            _("A path on this machine must be below a folder that PEGBOARD_SOURCE_DIRS allows.")
        )


# URL templates for the archive of a commit or branch, by host.
_FORGES = {
    "github.com": "https://codeload.github.com/{path}/tar.gz/{ref}",
    "gitlab.com": "https://gitlab.com/{path}/-/archive/{ref}/archive.tar.gz",
    "codeberg.org": "https://codeberg.org/{path}/archive/{ref}.tar.gz",
    "bitbucket.org": "https://bitbucket.org/{path}/get/{ref}.tar.gz",
}
NO_ARCHIVE = "is neither an archive (.tar.gz, .zip) nor a repository on a supported Git host"
ARCHIVES = (".tar.gz", ".tgz", ".zip")
_TREE = re.compile(r"/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<folder>(?s:.+)))?\Z")
# Names of dots only ("..") would lead to another repository.
_PART = re.compile(r"(?!\.+$)[\w.-]{1,100}")


def resolve_allowed_path(location: str) -> Path:
    """Return the resolved path if it is below an allowed folder; else LocationNotAllowedError."""
    # Links are resolved first, so that none can lead out of the allowed folder.
    try:
        path = Path(location).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise LocationNotAllowedError from None
    if not any(
        path.is_relative_to(Path(folder).resolve()) for folder in settings.PEGBOARD_SOURCE_DIRS
    ):
        raise LocationNotAllowedError
    return path


def archive_url(address: str, *, ref: str = "") -> str:
    """Return the URL of a repository's archive, or the address itself."""
    parts = urlsplit(address)
    if parts.path.endswith(ARCHIVES):
        return address
    form = _FORGES.get(parts.hostname or "")
    tree = _TREE.search(parts.path)
    path = _TREE.sub("", parts.path).strip("/").removesuffix(".git")
    names = path.split("/")
    if form is None or len(names) < 2 or not all(map(_PART.fullmatch, names)):
        raise RefusedError(NO_ARCHIVE)
    revision = ref or (tree["ref"] if tree else "HEAD")
    return form.format(path=path, ref=quote(revision, safe="/.-_"))


def folder_in_url(address: str) -> str:
    """Return the folder within the repository that the address points to, or ""."""
    tree = _TREE.search(urlsplit(address).path)
    return (tree["folder"] or "").strip("/") if tree else ""
