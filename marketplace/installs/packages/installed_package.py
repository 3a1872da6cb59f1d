"""Result of a package installation: the launch command, and the files it consists of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Artefact:
    """A file from an index. `digest` is `sha256:…` in hex, or npm's integrity value."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Installed:
    """The launch command, and every file that was fetched. `lock` is npm's lock file."""

    launch: tuple[str, ...]
    artefacts: tuple[Artefact, ...]
    lock: str = ""
