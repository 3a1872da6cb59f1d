"""Labelled sets, messages with their right answers, and the scores of the selector on them.

The production path is evaluated: a set's catalogue is loaded into temporary tables and embedded,
and the caller may use all of it.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from django.contrib.auth.models import Group, User

from acl.platform.strict_json import parse_json
from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import Kind, Loaded
from catalog.formats.loader import load_path
from catalog.formats.text_cleanup import clean_name
from catalog.registration.catalog_rebuild import scratch_catalog
from catalog.registration.register import register_for_measuring
from discovery.models import Experience
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities

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


Progress = Callable[[str, int, int], None]
Answered = tuple[Labelled, Selection]
# Names of the parts by how many tools a message needs.
_WISHES = ("no wish", "1 wish", "2 wishes", "3 wishes or more")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Sizes, measures by split, times in milliseconds, and each ranking."""

    capabilities: int
    messages: int
    ranking: dict[str, dict[str, float]]
    selection: dict[str, dict[str, float]]
    milliseconds: dict[str, dict[str, float]]
    run: dict[str, list[str]]


def evaluate(*, folder: Path, limit: int | None = None, progress: Progress) -> Evaluation:
    """Load, embed and ask. Raises BadSet if the folder is not a labelled set."""
    queries = read_queries(folder, limit)
    loaded = _apply_flags(load_path(folder / "catalog.jsonl"), read_flags(folder))
    if not loaded.capabilities:
        raise BadSet(f"{folder / 'catalog.jsonl'} has no capability that could be read")
    with scratch_catalog(also=[Experience._meta.db_table]):
        group = Group.objects.create(name="evaluation")
        user = User.objects.create(username="evaluation")
        user.groups.add(group)
        register_for_measuring(loaded, group=group)
        caller = Caller(user.pk, group.pk)
        embed_pending(progress=lambda done, total: progress("Embedding", done, total))
        answers = _ask(queries, caller, progress)
    return _report(len(loaded.capabilities), queries, answers, read_ids(folder))


def _apply_flags(loaded: Loaded, flags: dict[str, EntryFlags]) -> Loaded:
    """Apply the set's flags: an import may not mark entries as core or pinned, a test set may."""
    capabilities = []
    for item in loaded.capabilities:
        flag = flags.get(item.identifier, EntryFlags())
        capabilities.append(replace(item, kind=flag.kind, core=flag.core, pinned=flag.pinned))
    return replace(loaded, capabilities=tuple(capabilities))


def _ask(queries: Sequence[Labelled], caller: Caller, progress: Progress) -> list[Selection]:
    answers = []
    for number, labelled in enumerate(queries, 1):
        request = SelectRequest(message=labelled.query, caller=caller, history=labelled.history)
        answers.append(select_capabilities(request))
        progress("Asking", number, len(queries))
    return answers


def _report(
    capabilities: int,
    queries: Sequence[Labelled],
    answers: Sequence[Selection],
    ids: Mapping[str, str],
) -> Evaluation:
    pairs = list(zip(queries, answers, strict=True))
    chosen: dict[str, Sequence[Answered]] = {"all": pairs}
    namers: tuple[Callable[[Labelled], str], ...] = (
        lambda labelled: labelled.split,
        lambda labelled: labelled.language and f"in {labelled.language}",
        lambda labelled: _WISHES[min(len(labelled.relevant), len(_WISHES) - 1)],
    )
    for name_of in namers:
        for name in sorted({name_of(labelled) for labelled in queries} - {""}):
            chosen[name] = [pair for pair in pairs if name_of(pair[0]) == name]
    parts = dict.fromkeys(part for answer in answers for part in answer.timings)
    # Help, for one, is looked for only where nothing fits.
    return Evaluation(
        capabilities=capabilities,
        messages=len(queries),
        ranking={name: _ranking(part) for name, part in chosen.items()},
        selection={name: _selection(part) for name, part in chosen.items()},
        milliseconds={
            part: _spread([answer.timings.get(part, 0.0) for answer in answers]) for part in parts
        },
        # An outside scorer compares them with the file's.
        run={
            query.qid: [ids.get(identifier, identifier) for identifier in answer.ranking]
            for query, answer in pairs
        },
    )


def _ranking(pairs: Sequence[Answered]) -> dict[str, float]:
    labelled = [pair for pair in pairs if pair[0].relevant]
    return average([score_ranking(query, answer.ranking) for query, answer in labelled])


def _selection(pairs: Sequence[Answered]) -> dict[str, float]:
    """Return the measures of messages that need tools, and the share of others that got none.

    Pinned tools do not count as got.
    """
    need_tools = [pair for pair in pairs if pair[0].relevant]
    measures = average(
        [
            score_selection(query, [item.identifier for item in answer.selected])
            | {"nothing": float(_got_none(answer))}
            for query, answer in need_tools
        ]
    )
    need_none = [answer for query, answer in pairs if not query.relevant]
    if need_none:
        measures["left alone"] = statistics.fmean(map(_got_none, need_none))
    return measures


def _got_none(answer: Selection) -> bool:
    return all(item.pinned for item in answer.selected)


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"p50": statistics.median(ordered), "p95": ordered[int(len(ordered) * 0.95)]}
