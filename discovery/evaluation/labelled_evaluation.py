"""Scores the selector on a labelled set, through the path that production takes.

The set's catalogue is loaded into temporary tables, embedded here, and asked as a caller who may
use all of it.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.contrib.auth.models import Group, User

from acl.rights.caller import Caller
from catalog.embedding.embedding_jobs import embed_pending
from catalog.formats.descriptors import Loaded
from catalog.formats.loader import load_path
from catalog.registration.register import register_for_measuring
from catalog.registration.scratch_catalog import scratch_catalog
from discovery.evaluation.labelled_sets import BadSet, Standing, read_queries, read_standings
from discovery.evaluation.scores import Labelled, average, score_ranking, score_selection
from discovery.models import Experience
from discovery.select.selection import Asked, Selection
from discovery.select.selector import select_capabilities

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` found: how much was loaded, measures by split, times in milliseconds, and
    each ranking."""

    capabilities: int
    messages: int
    ranking: dict[str, dict[str, float]]
    selection: dict[str, dict[str, float]]
    milliseconds: dict[str, dict[str, float]]
    run: dict[str, list[str]]


def evaluate(*, folder: Path, limit: int | None = None, progress: Progress) -> Evaluation:
    """Load, embed and ask; raises BadSet where the folder is not a labelled set."""
    queries = read_queries(folder, limit)
    loaded = _as_the_set_says(load_path(folder / "catalog.jsonl"), read_standings(folder))
    if not loaded.capabilities:
        raise BadSet(f"{folder / 'catalog.jsonl'} has no capability that could be read")
    with scratch_catalog(also=[Experience._meta.db_table]):
        caller = _caller_of_everything(loaded)
        embed_pending(progress=lambda done, total: progress("Embedding", done, total))
        answers = _ask(queries, caller, progress)
    return _report(len(loaded.capabilities), queries, answers)


def _as_the_set_says(loaded: Loaded, standings: dict[str, Standing]) -> Loaded:
    """An import lets nothing make itself core or pinned; a set that is only measured may."""
    capabilities = []
    for item in loaded.capabilities:
        standing = standings.get(item.identifier, Standing())
        capabilities.append(
            replace(item, kind=standing.kind, core=standing.core, pinned=standing.pinned)
        )
    return replace(loaded, capabilities=tuple(capabilities))


def _caller_of_everything(loaded: Loaded) -> Caller:
    group = Group.objects.create(name="evaluation")
    user = User.objects.create(username="evaluation")
    user.groups.add(group)
    register_for_measuring(loaded, group=group)
    return Caller(user.pk, group.pk)


def _ask(queries: Sequence[Labelled], caller: Caller, progress: Progress) -> list[Selection]:
    answers = []
    for number, labelled in enumerate(queries, 1):
        asked = Asked(message=labelled.query, caller=caller, history=labelled.history)
        answers.append(select_capabilities(asked))
        progress("Asking", number, len(queries))
    return answers


def _report(
    capabilities: int, queries: Sequence[Labelled], answers: Sequence[Selection]
) -> Evaluation:
    pairs = list(zip(queries, answers, strict=True))
    splits = sorted({labelled.split for labelled in queries} - {""})
    chosen = {"all": pairs} | {
        name: [pair for pair in pairs if pair[0].split == name] for name in splits
    }
    return Evaluation(
        capabilities=capabilities,
        messages=len(queries),
        ranking={name: _ranking(part) for name, part in chosen.items()},
        selection={name: _selection(part) for name, part in chosen.items()},
        milliseconds=_times(answers),
        run={labelled.qid: list(answer.ranking) for labelled, answer in pairs},
    )


def _ranking(pairs: Sequence[tuple[Labelled, Selection]]) -> dict[str, float]:
    labelled = [pair for pair in pairs if pair[0].relevant]
    return average([score_ranking(query, answer.ranking) for query, answer in labelled])


def _selection(pairs: Sequence[tuple[Labelled, Selection]]) -> dict[str, float]:
    """Of messages with a right answer their measures; of small talk the share that got no tool
    beyond pinned."""
    needing = [pair for pair in pairs if pair[0].relevant]
    measures = average([score_selection(query, _returned(answer)) for query, answer in needing])
    needless = [answer for query, answer in pairs if not query.relevant]
    if needless:
        measures["left alone"] = statistics.fmean(map(_left_alone, needless))
    return measures


def _returned(answer: Selection) -> list[str]:
    return [item.identifier for item in answer.selected]


def _left_alone(answer: Selection) -> bool:
    return all(item.pinned for item in answer.selected)


def _times(answers: Sequence[Selection]) -> dict[str, dict[str, float]]:
    parts = answers[0].timings
    return {part: _spread([answer.timings[part] for answer in answers]) for part in parts}


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"p50": statistics.median(ordered), "p95": ordered[int(len(ordered) * 0.95)]}
