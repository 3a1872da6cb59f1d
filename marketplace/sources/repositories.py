"""Archive URLs of repositories. We never run `git`: only the guarded HTTP client goes out."""

import re
from urllib.parse import quote, urlsplit

from catalog.formats.files import RefusedError

# URL templates for the archive of a commit or branch, by host.
_FORGES = {
    "github.com": "https://codeload.github.com/{path}/tar.gz/{ref}",
    "gitlab.com": "https://gitlab.com/{path}/-/archive/{ref}/archive.tar.gz",
    "codeberg.org": "https://codeberg.org/{path}/archive/{ref}.tar.gz",
    "bitbucket.org": "https://bitbucket.org/{path}/get/{ref}.tar.gz",
}
NO_ARCHIVE = "is neither an archive (.tar.gz, .zip) nor a repository at a known forge"
ARCHIVES = (".tar.gz", ".tgz", ".zip")
_TREE = re.compile(r"/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<folder>(?s:.+)))?\Z")
# Names of dots only ("..") would lead to another repository.
_PART = re.compile(r"(?!\.+$)[\w.-]{1,100}")


def archive_url(address: str, *, ref: str = "") -> str:
    """Return the URL of the archive: of a repository at a known forge, or the address itself."""
    parts = urlsplit(address)
    if parts.path.endswith(ARCHIVES):
        return address
    form = _FORGES.get(parts.hostname or "")
    tree = _TREE.search(parts.path)
    path = _TREE.sub("", parts.path).strip("/").removesuffix(".git")
    names = path.split("/")
    if form is None or len(names) < 2 or not all(map(_PART.fullmatch, names)):
        raise RefusedError(
            "is neither an archive (.tar.gz, .zip) nor a repository at a known forge"
        )
    wanted = ref or (tree["ref"] if tree else "HEAD")
    return form.format(path=path, ref=quote(wanted, safe="/.-_"))


def folder_in_url(address: str) -> str:
    """Return the folder within the repository that the address points to, or ""."""
    tree = _TREE.search(urlsplit(address).path)
    return (tree["folder"] or "").strip("/") if tree else ""
