"""The cost of learning in a selection: the same messages with and without it, alternately.

    DATABASE_URL=… python -m lab.bench.memory    # an empty database, which it fills

Prints milliseconds of all but the embedding, medians and their ratio, for a user of all 5,000
capabilities: in a group that has learned nothing, and in one with a full memory; each also with the
turn stored.
"""

import random
import statistics
import time
import uuid

import numpy as np
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test.utils import override_settings

from acl.rights.caller_lookup import Caller
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.query_vectors import embed_queries
from catalog.models import Capability, EmbeddingModel
from discovery.models import Experience
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import select_for_turn
from lab.bench.graph import SIZE, caller_of_everything
from lab.bench.selection import texts
from lab.bench.world import build_world

FULL = 5000
USERS = 20


def main() -> None:
    """Build the world, measure, learn, and measure again."""
    call_command("migrate", verbosity=0)
    build_world(capabilities=SIZE, users=1000, groups=50, model=answering_embedder().name)
    caller = caller_of_everything()
    _print("learned nothing", *measure(caller))
    fill(caller)
    _print(f"{FULL:,} experiences", *measure(caller))
    _print("… and the turn stored", *measure(caller, store=True))


def fill(caller: Caller) -> None:
    """Fill the memory with messages like the measured ones, by twenty users."""
    dice, noise = random.Random(5), np.random.default_rng(5)
    said = embed_queries(texts("single", 400)).vectors
    people = User.objects.bulk_create(User(username=f"learner-{n}") for n in range(USERS))
    keys = list(Capability.objects.values_list("pk", flat=True))
    model = EmbeddingModel.objects.get(active=True)
    rows = []
    for _ in range(FULL):
        vector = dice.choice(said) + noise.standard_normal(said.shape[1]) * dice.random() / 20
        rows.append(
            Experience(
                group_id=caller.group_id,
                user=dice.choice(people),
                capability_id=dice.choice(keys),
                model=model,
                turn=uuid.uuid4(),
                vector=vector / np.linalg.norm(vector),
                worth=1.0,
                gains=[0, 0.01, 0.02, 0.02, 0.02],
            )
        )
    Experience.objects.bulk_create(rows, batch_size=500)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def measure(caller: Caller, *, calls: int = 40, store: bool = False) -> tuple[float, float]:
    """Return medians with and without learning, message by message."""
    select = select_for_turn if store else select_capabilities
    taken: dict[bool, list[float]] = {True: [], False: []}
    for number, text in enumerate(texts("single", calls)):
        asked = SelectRequest(text, caller)
        select_capabilities(asked)  # caches the vectors
        for learns in (True, False, True, False) if number % 2 else (False, True, False, True):
            with override_settings(PEGBOARD_LEARNING=learns):
                started = time.perf_counter()
                spent = select(asked).timings["embedding"]
                taken[learns].append((time.perf_counter() - started) * 1000 - spent)
    return statistics.median(taken[True]), statistics.median(taken[False])


def _print(label: str, learning: float, without: float) -> None:
    print(f"{label}: {without:.2f} without, {learning:.2f} with, {learning / without:.2f}")


if __name__ == "__main__":
    main()
