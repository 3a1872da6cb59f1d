"""Evaluation of the selector on a labelled set, along the production path.

Loads the set's catalogue into temporary tables, embeds it, and asks as a caller who may use all of
it.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.contrib.auth.models import Group, User

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import Loaded
from catalog.formats.loader import load_path
from catalog.registration.catalog_rebuild import scratch_catalog
from catalog.registration.register import register_for_measuring
from discovery.evaluation.labelled_sets import (
    BadSet,
    EntryFlags,
    Labelled,
    average,
    read_flags,
    read_ids,
    read_queries,
    score_ranking,
    score_selection,
)
from discovery.models import Experience
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities

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
