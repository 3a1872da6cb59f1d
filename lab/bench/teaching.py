"""The curve of learning, from no message to 500: what a catalogue gains from taught messages.

    python -m lab.bench.teaching ../shared/eval [--sets metatool …] [--seed 0] [--raise-at 2]

One half of a labelled set is taught, as by an admin on the page Teach; recall@5 of the other half
is measured after 0, 10, 25, 50, 100, 250 and 500 messages, by the product's own rule. Beside it the
same messages as ordinary calls of twenty people, each judged by those before it only.
Everything runs through production code, in temporary tables.
"""

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import call_command
from django.test.utils import override_settings

from discovery.evaluation import Labelled, read_queries
from discovery.learning import memory
from discovery.learning.experience_store import review
from discovery.models import Experience, TaughtMessage
from discovery.teaching.taught_messages import learn_taught
from lab.bench.inside import run_inside
from lab.bench.learning import SETS, Room, halves, learn, recall, room

STEPS = (0, 10, 25, 50, 100, 250, 500)


def taught_curve(made: Room, learned: Sequence[Labelled], measured: Sequence[Labelled]) -> None:
    """Teach the messages, and print a row for each step."""
    _clear()
    by, before = User.objects.get(pk=made.asking.user_id), 0
    for step in _steps(learned):
        _teach(made, by, learned[before:step])
        learn_taught()
        before = step
        _row("taught", step, made, measured)


def called_curve(made: Room, learned: Sequence[Labelled], measured: Sequence[Labelled]) -> None:
    """Learn the same messages as calls, and print a row for each step."""
    _clear()
    dice, before = random.Random(0), 0
    for step in _steps(learned):
        learn(made, learned[before:step], "none", dice)
        before = step
        _row("called", step, made, measured)


def _steps(learned: Sequence[Labelled]) -> list[int]:
    return [step for step in STEPS if step <= len(learned)]


def _clear() -> None:
    Experience.objects.all().delete()
    TaughtMessage.objects.all().delete()


def _teach(made: Room, by: User, messages: Sequence[Labelled]) -> None:
    """Store confirmed messages as the page does; twice the same message is taught once."""
    for labelled in messages:
        taught, new = TaughtMessage.objects.get_or_create(
            group_id=made.asking.group_id,
            user=by,
            message=labelled.query[:600],
            defaults={"state": "confirmed", "decided_at": by.date_joined},
        )
        if new:
            taught.tools.set([made.keys[identifier] for identifier in labelled.relevant])
    TaughtMessage.objects.update(learned_by=None)


def _row(way: str, step: int, made: Room, measured: Sequence[Labelled]) -> None:
    five, one = recall(made, measured, 5, 1)
    weight = review(caller=made.asking).weight
    print(f"| {way} | {step} | {five:.1f} | {one:.1f} | {weight} |", flush=True)


def main() -> None:
    """Print both curves of each set, on an embedded server unless DATABASE_URL is set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measured", type=int, default=250, help="messages measured at each step")
    parser.add_argument(
        "--raise-at", type=float, default=memory.TO_RAISE,
        help="standard errors of evidence that raise the weight",
    )  # fmt: skip
    wanted = parser.parse_args()
    memory.TO_RAISE = wanted.raise_at
    if "DATABASE_URL" not in os.environ:
        run_inside("lab.bench.teaching", *sys.argv[1:])
        return
    call_command("migrate", verbosity=0)
    tables = [TaughtMessage._meta.db_table, TaughtMessage.tools.through._meta.db_table]
    with override_settings(PEGBOARD_QUERY_CACHE_SIZE=20_000):
        for name in wanted.sets:
            learned, measured = halves(read_queries(wanted.folder / name), wanted.seed)
            print(f"{name}: way, messages, recall@5, recall@1, weight", flush=True)
            with room(wanted.folder / name, also=tables) as made:
                taught_curve(made, learned, measured[: wanted.measured])
                called_curve(made, learned, measured[: wanted.measured])


if __name__ == "__main__":
    main()
