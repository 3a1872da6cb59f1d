"""Reader of labelled sets: a catalogue, and messages with their right answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl.platform.strict_json import parse_json
from catalog.formats.descriptors import Kind
from catalog.formats.text_cleanup import clean_name
from discovery.evaluation.scores import Labelled


class BadSet(Exception):
    """The folder is not a labelled set; the message names file, line and reason."""


@dataclass(frozen=True, slots=True)
class EntryFlags:
    """Flags of an entry in catalog.jsonl, which an import would not accept."""

    kind: Kind = "tool"
    core: bool = False
    pinned: bool = False


def stored_id(raw: object) -> str:
    """Return the id as the loader stores it: on one line, without doubled blanks."""
    return clean_name(str(raw)).text


def find_sets(folder: Path) -> dict[str, Path]:
    """Return the folder itself if it is a labelled set, otherwise those in it, by their names."""
    if (folder / "catalog.jsonl").is_file() or not folder.is_dir():
        return {folder.name: folder}
    folders = sorted(path.parent for path in folder.glob("*/queries.jsonl"))
    if not folders:
        raise BadSet(f"{folder} has no labelled set: catalog.jsonl and queries.jsonl")
    return {path.name: path for path in folders}


def read_ids(folder: Path) -> dict[str, str]:
    """Return the ids of the catalogue as the file has them, by the stored id."""
    rows = _read_lines(folder / "catalog.jsonl")
    return {stored_id(row["id"]): str(row["id"]) for _, row in rows if "id" in row}


def read_queries(folder: Path, limit: int | None = None) -> list[Labelled]:
    """Return the messages in the file's order, at most `limit`."""
    rows = [_labelled(row, place) for place, row in _read_lines(folder / "queries.jsonl")]
    if not rows:
        raise BadSet(f"{folder / 'queries.jsonl'} has no messages")
    return rows[:limit]


def read_flags(folder: Path) -> dict[str, EntryFlags]:
    """Return the flags of each entry by its id."""
    return {
        stored_id(row["id"]): EntryFlags(
            row.get("kind", "tool"), bool(row.get("core")), bool(row.get("pinned"))
        )
        for _, row in _read_lines(folder / "catalog.jsonl")
        if "id" in row
    }


def _read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise BadSet(f"{path} does not exist")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{path.name}:{number}", _object(line, f"{path.name}:{number}")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        row = parse_json(line)
    except ValueError as problem:
        raise BadSet(f"{place}: not JSON: {problem}") from problem
    if not isinstance(row, dict):
        raise BadSet(f"{place}: not an object")
    return row


def _labelled(row: dict[str, Any], place: str) -> Labelled:
    try:
        return Labelled(
            qid=str(row["qid"]),
            query=str(row["query"]),
            relevant=tuple(map(stored_id, row["relevant"])),
            history=tuple(row.get("history") or ()),
            split=row.get("split") or "",
            part=row.get("part") or "",
            language=row.get("lang") or "",
            alternatives={
                stored_id(key): tuple(map(stored_id, ids))
                for key, ids in (row.get("alternatives") or {}).items()
            },
            not_relevant=tuple(map(stored_id, row.get("not_relevant") or ())),
        )
    except KeyError as missing:
        raise BadSet(f"{place}: {missing.args[0]} is missing") from missing
