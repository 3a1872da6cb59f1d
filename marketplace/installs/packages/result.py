"""Result of installing a package: launch command and files, or an error that says what to do."""

from dataclasses import dataclass, field
from typing import Any

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.formats.secret_redaction import redact_text
from catalog.formats.text_cleanup import clean_text

_MOST_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True, order=True)
class Artefact:
    """A file from an index. `digest` is `sha256:…` in hex, or npm's integrity value."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Installed:
    """The launch command, and every file that was fetched. `lock` is npm's lock file.

    `python` is the version that the files were chosen for. `built` has the digests of wheels that
    were built here, by package; the artefacts of these are sources.
    """

    launch: tuple[str, ...]
    artefacts: tuple[Artefact, ...]
    lock: str = ""
    python: str = ""
    built: dict[str, str] = field(default_factory=dict)


class PackageProblemError(Exception):
    """The package could not be installed. `code` is for machines."""

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        redacted = "\n".join(redact_text(clean_text(line).text) for line in detail.splitlines())
        super().__init__(f"{message}\n{redacted[-_MOST_CHARACTERS:]}".strip())
        self.code = code


def read_json(text: str, name: str) -> Any:
    """Parse JSON that a package client or a package has written."""
    try:
        return parse_json(text, max_depth=128, any_text=True)
    except StrictJSONError as problem:
        raise PackageProblemError(
            "package_failed", f"{name} is not valid JSON: {problem}."
        ) from None
