"""The benefit of learning from use: one half of a labelled set is learned, the other measured.

    python -m lab.bench.learning ../shared/eval [--sets metatool …] [--seeds 0 1 2]

It runs the production code: messages are selected for, their turns stored, right answers recorded
as called, and the other half is asked after 0, 100, 500 and all learned turns. Catalogue, turns and
memory are temporary tables of the database in DATABASE_URL, or of an embedded server.

Prints recall@5 in per cent. Feedback is right, or wrong in every tenth turn: for random tools, or
always for the same one. With "flood", one extra user reports two turns of five, always with the
same tool. Finally learned messages are asked again, unchanged and paraphrased (`paraphrases.py`).
"""

import argparse
import os
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test.utils import override_settings

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.formats.loader import load_path
from catalog.models import Capability
from catalog.registration.catalog_rebuild import scratch_catalog
from catalog.registration.register import register
from discovery.evaluation import Labelled, read_queries, score_ranking
from discovery.learning.experience_store import record_experience, review
from discovery.models import Experience, Turn
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import select_for_turn
from lab.bench.inside import run_inside
from lab.bench.paraphrases import WAYS

SETS = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")
STEPS = (0, 100, 500)
USERS = 20
AGAIN = 200  # number of learned messages that are asked again


class Point(NamedTuple):
    """Number of learned turns, recall@5 of the other half, and the votes' weight."""

    learned: int
    recall: float
    weight: float


@dataclass
class Room:
    """A group with one catalogue: its people, and the capabilities by id."""

    people: list[Caller]
    keys: dict[str, int]

    @property
    def asking(self) -> Caller:
        return self.people[0]

    @property
    def flooding(self) -> Caller:
        return self.people[-1]

    def feedback(self, noise: str, labelled: Labelled, dice: random.Random) -> tuple[Caller, str]:
        """Return the user and the reported calls of a turn; None for the right answer."""
        names, who = sorted(self.keys), dice.choice(self.people[:-1])
        if noise == "flood":
            return (self.flooding, names[7]) if dice.random() < 0.4 else (who, "")
        if noise == "none" or dice.random() >= 0.1:
            return who, ""
        return who, names[7] if noise == "hostile" else dice.choice(names)


@contextmanager
def room(folder: Path, *, also: Sequence[str] = ()) -> Iterator[Room]:
    """Embed the set's catalogue, and create a group that may use all of it."""
    tables = [Experience._meta.db_table, Turn._meta.db_table, *also]
    with scratch_catalog(also=tables):
        group = Group.objects.create(name="learning")
        loaded = load_path(folder / "catalog.jsonl")
        register(loaded, by=None, source="learning", group=group, send=False)
        embed_pending()
        people = [User.objects.create(username=f"user-{n}") for n in range(USERS + 1)]
        group.user_set.add(*people)
        keys = dict(Capability.objects.values_list("identifier", "pk"))
        yield Room([Caller(user.pk, group.pk) for user in people], keys)


def halves(queries: Sequence[Labelled], seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Split the messages into a shuffled half to learn and a half to measure."""
    shuffled = random.Random(seed).sample(list(queries), len(queries))
    return shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]


def learn(room: Room, messages: Sequence[Labelled], noise: str, dice: random.Random) -> None:
    """Learn the messages as successful calls."""
    for labelled in messages:
        caller, wrong = room.feedback(noise, labelled, dice)
        called = [wrong] if wrong else labelled.relevant
        turn = select_for_turn(SelectRequest(labelled.query, caller)).turn_id
        keys = [room.keys[identifier] for identifier in called]
        record_experience(turn=Turn.objects.get(pk=str(turn)), called=keys, score=1.0)


def recall(room: Room, messages: Sequence[Labelled], *depths: int) -> list[float]:
    """Return recall at these depths in per cent; the selections are not learned."""
    found = []
    for labelled in messages:
        ranking = select_capabilities(SelectRequest(labelled.query, room.asking)).ranking
        scores = score_ranking(labelled, ranking)
        found.append([scores[f"recall@{depth}"] for depth in depths])
    return [100 * statistics.fmean(column) for column in zip(*found, strict=True)]


def curve(
    room: Room, queries: Sequence[Labelled], seed: int, noise: str, start: Point | None
) -> list[Point]:
    """Return the points of one half; `start` is the point without learning, if known."""
    learned, measured = halves(queries, seed)
    Experience.objects.all().delete()
    dice, before = random.Random(seed), 0
    points: list[Point] = []
    for step in (*STEPS, len(learned)):
        if step == 0 and start is not None:
            points.append(start)
            continue
        learn(room, learned[before:step], noise, dice)
        before = step
        weight = review(caller=room.asking).weight
        points.append(Point(step, recall(room, measured, 5)[0], weight))
    return points


def asked_again(room: Room, queries: Sequence[Labelled], seed: int) -> dict[str, list[float]]:
    """Return recall@5 and recall@1 of learned messages by paraphrase, before and after."""
    dice, learned = random.Random(seed), halves(queries, seed)[0][:AGAIN]
    figures = {}
    for name, change in WAYS.items():
        said = [_said(labelled, change(labelled.query, dice)) for labelled in learned]
        with override_settings(PEGBOARD_LEARNING=False):
            without = recall(room, said, 5, 1)
        figures[name] = [*without, *recall(room, said, 5, 1)]
    return figures


def _said(labelled: Labelled, query: str) -> Labelled:
    return Labelled(labelled.qid, query, labelled.relevant, alternatives=labelled.alternatives)


NOISES = {
    "none": "right",
    "random": "a tenth wrong",
    "hostile": "a tenth always the same",
    "flood": "flooded by one user",
}


def measure(folder: Path, seeds: Sequence[int]) -> None:
    """Print the learning curve and the repeated messages of one set."""
    queries = read_queries(folder)
    again: list[dict[str, list[float]]] = []
    _row(
        folder.name,
        "learned",
        *(f"{NOISES[noise]}, of {len(seeds)} seeds, weight" for noise in NOISES),
    )
    with room(folder) as made:
        curves: dict[str, list[list[Point]]] = {}
        for noise in NOISES:
            for seed in seeds:
                known = curves["none"][seeds.index(seed)][0] if noise != "none" else None
                curves.setdefault(noise, []).append(curve(made, queries, seed, noise, known))
                if noise == "none":
                    again.append(asked_again(made, queries, seed))
    for place, point in enumerate(curves["none"][0]):
        _row(folder.name, str(point.learned), *(_cell(curves[noise], place) for noise in NOISES))
    _row(folder.name, "asked again", "@5 without", "@5 with", "@1 without", "@1 with")
    for name in WAYS:
        five, one, five_with, one_with = (
            statistics.fmean(each[name][place] for each in again) for place in range(4)
        )
        _row(folder.name, name, *(f"{value:.1f}" for value in (five, five_with, one, one_with)))


def _cell(curves: Sequence[Sequence[Point]], place: int) -> str:
    """Format mean, gain over no learning, smallest gain of any seed, and mean weight."""
    at = [points[place].recall for points in curves]
    gains = [points[place].recall - points[0].recall for points in curves]
    weight = statistics.fmean(points[place].weight for points in curves)
    mean, gain, least = statistics.fmean(at), statistics.fmean(gains), min(gains)
    return f"{mean:.1f} ({gain:+.1f}, least {least:+.1f}) {weight:.2f}"


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Measure each set, on an embedded server unless DATABASE_URL is set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    parser.add_argument("--sets", nargs="+", default=SETS[:2], choices=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    wanted = parser.parse_args()
    if "DATABASE_URL" not in os.environ:
        run_inside("lab.bench.learning", *sys.argv[1:])
        return
    call_command("migrate", verbosity=0)
    with override_settings(PEGBOARD_QUERY_CACHE_SIZE=20_000):
        for name in wanted.sets:
            measure(wanted.folder / name, wanted.seeds)


if __name__ == "__main__":
    main()
