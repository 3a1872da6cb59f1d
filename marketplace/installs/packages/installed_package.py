"""What became of a package: how it is started, and of which files it is made."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Artefact:
    """One file that an index gave; `digest` is `sha256:…` in hex, or npm's integrity."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Installed:
    """The command inside the place, and every file that was taken for it; `lock` is npm's own."""

    launch: tuple[str, ...]
    artefacts: tuple[Artefact, ...]
    lock: str = ""
