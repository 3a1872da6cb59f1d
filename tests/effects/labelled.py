"""The labelled tools: 400 of the sample sources, labelled by the developers in two passes.

`labels.tsv` holds ids, a digest of each definition, the labels of both passes and the settled one.
Its letters: r(ead), w(rite), d(elete); then o(utside), s(trangers' text), p(rivate data). The
tools' texts are read where they lie.
"""

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from catalog.formats.descriptors import Descriptor, canonical_json
from catalog.formats.loader import load_path

SHARED = Path(__file__).parents[3] / "shared"
EFFECTS = {"r": "read", "w": "write", "d": "delete"}
FLAGS = {"o": "reaches_outside", "s": "returns_foreign_text", "p": "reads_private_data"}
# Sources without servers: each tool is a server of its own.
WITHOUT_SERVERS = {"bfcl-pooled", "metatool", "seal-tools", "toollinkos"}
_SAMPLES = {"docker-mcp-registry", "mcp-tools-list", "toolhive-registry"}


@dataclass(frozen=True)
class Label:
    """A label of one tool, and the digest of what was labelled."""

    source: str
    identifier: str
    digest: str
    first: str
    second: str
    settled: str

    @property
    def effect(self) -> str:
        return EFFECTS[self.settled[0]]

    @property
    def flags(self) -> set[str]:
        return {FLAGS[letter] for letter in self.settled[1:]}


def labels(name: str = "labels.tsv") -> list[Label]:
    """Return all labels of a file."""
    with (Path(__file__).parent / name).open() as file:
        rows = list(csv.reader(file, delimiter="\t"))
    return [Label(*row) for row in rows[1:]]


@cache
def definitions() -> dict[tuple[str, str], Descriptor]:
    """Return the definitions by source and id, as the product reads them."""
    return {(source, one.identifier): one for source, one in _read()}


def _read() -> Iterator[tuple[str, Descriptor]]:
    folders = [path for path in (SHARED / "samples").iterdir() if path.name in _SAMPLES]
    files = {path.parent.name: path for path in (SHARED / "eval").glob("*/catalog.jsonl")}
    for source, path in sorted({path.name: path for path in folders}.items() | files.items()):
        for one in load_path(path).capabilities:
            yield source, one


def digest(one: Descriptor) -> str:
    """Return the digest of what a labeller reads."""
    text = canonical_json([one.action, one.description, one.input_schema, one.annotations])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_tuned(source: str, one: Descriptor) -> bool:
    """Return True for the half that rules were tuned on: a half of the servers."""
    server = one.identifier if source in WITHOUT_SERVERS else one.integration
    return hashlib.sha256(f"{source}/{server}".encode()).digest()[0] % 2 == 0
