"""Reader of labelled sets: a catalogue, and messages with their right answers."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from acl.platform.strict_json import parse_json
from catalog.formats.descriptors import Kind
from catalog.formats.text_cleanup import clean_name

# Measures of a ranking against labels.
#
# recall@k share of the right ids among the first k ndcg@k gains of 1 discounted by log2(rank + 1),
# divided by the best possible sum mrr 1 / rank of the first right id complete@k 1 if all right ids
# are among the first k
#
# Source of the formulas: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR
# techniques" (2002).

DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message of a labelled set. `alternatives` lists ids that serve as well as a right one,
    `not_relevant` those that do not fit by the set's makers' word."""

    qid: str
    query: str
    relevant: tuple[str, ...]
    history: tuple[str, ...] = ()
    split: str = ""
    part: str = ""
    language: str = ""
    alternatives: dict[str, tuple[str, ...]] = field(default_factory=dict)
    not_relevant: tuple[str, ...] = ()

    def gains(self, ids: Iterable[str]) -> list[int]:
        """Return 1 for each first occurrence of a right id, otherwise 0."""
        right_by_alternative = {
            alternative: right
            for right, others in self.alternatives.items()
            for alternative in others
        }
        unmatched, gains = set(self.relevant), []
        for identifier in ids:
            right = (
                identifier
                if identifier in unmatched
                else right_by_alternative.get(identifier, identifier)
            )
            gains.append(int(right in unmatched))
            unmatched.discard(right)
        return gains


def score_ranking(labelled: Labelled, ids: Sequence[str]) -> dict[str, float]:
    """Compute all measures of one message, which must have a right id."""
    gains, right = labelled.gains(ids), len(labelled.relevant)
    scores = {f"recall@{k}": sum(gains[:k]) / right for k in DEPTHS}
    scores |= {f"ndcg@{k}": _ndcg(gains[:k], right, k) for k in DEPTHS[1:]}
    scores["mrr"] = next((1 / rank for rank, gain in enumerate(gains, 1) if gain), 0.0)
    scores["complete@10"] = float(sum(gains[:10]) == right)
    return scores


def score_selection(labelled: Labelled, ids: Sequence[str]) -> dict[str, float]:
    """Compute recall, precision and length of a selection; an empty one has precision 0."""
    gains, right = labelled.gains(ids), len(labelled.relevant)
    return {
        "recall": sum(gains) / right,
        "precision": sum(gains) / len(ids) if ids else 0.0,
        "served": float(sum(gains) == right),
        "answered": float(sum(gains) > 0),
        "length": float(len(ids)),
    }


def average(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each measure; empty without rows."""
    return {name: fmean(row[name] for row in rows) for name in rows[0]} if rows else {}


def _ndcg(gains: Sequence[int], right: int, depth: int) -> float:
    gained = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(depth, right) + 1))


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
