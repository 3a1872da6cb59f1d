"""Latency of marketplace pages, compared with the sign-in page in the same run.

    python -m lab.bench.marketplace 10000

Prints the table of lab/benchmarks.md as Markdown. Starts its own servers.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import django

from lab.bench.inside import run_inside

ROUNDS = 40
SOURCES = 6
NOUNS = [
    "mail",
    "calendar",
    "weather",
    "ticket",
    "invoice",
    "photo",
    "map",
    "recipe",
    "ledger",
    "parcel",
    "train",
    "garden",
]
VERBS = [
    "finds",
    "sends",
    "files",
    "translates",
    "counts",
    "plans",
    "compares",
    "watches",
    "sorts",
    "repairs",
]
PLACES = [
    "offices",
    "schools",
    "clinics",
    "farms",
    "shops",
    "museums",
    "ports",
    "kitchens",
    "libraries",
]


def main() -> None:
    """Start the servers, and measure in a process that knows them."""
    if "--inside" in sys.argv:
        _print(int(sys.argv[-1]), measure(int(sys.argv[-1])))
        return
    size = sys.argv[1] if len(sys.argv) > 1 else "10000"
    run_inside("lab.bench.marketplace", "--inside", size)


def measure(size: int) -> dict[str, list[float]]:
    """Measure each page in turn, as an admin."""
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.test.utils import setup_test_environment

    call_command("migrate", verbosity=0)
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    _fill(size)
    setup_test_environment()
    admin, nobody = Client(), Client()
    admin.force_login(User.objects.create_superuser("root"))
    words = _words()
    pages: dict[str, tuple[Client, Callable[[], str]]] = {
        "sign in": (nobody, lambda: "/sign-in/"),
        "browse": (admin, lambda: "/marketplace/"),
        "by category, its last page": (admin, lambda: "/marketplace/?category=mail&page=9999"),
        "the last page of all": (admin, lambda: "/marketplace/?page=9999"),
        "search, new words": (admin, lambda: f"/marketplace/?q={next(words)}"),
        "search, words known": (admin, lambda: "/marketplace/?q=sends+mail+for+schools"),
        "one listing": (admin, lambda: "/marketplace/listings/listing-7/"),
    }
    taken: dict[str, list[float]] = {name: [] for name in pages}
    for number in range(ROUNDS + 3):
        for name, (client, path) in pages.items():
            address = path()
            started = time.perf_counter()
            answer = client.get(address)
            if number >= 3:
                taken[name].append((time.perf_counter() - started) * 1000)
            assert answer.status_code == 200, answer.content
    return taken


def _fill(size: int) -> None:
    """Create listings with different words, and vectors of the usual length."""
    import numpy as np
    from django.db import connection

    from catalog.models import EmbeddingModel, Integration
    from catalog.registration.embedding_models import register_configured_model
    from marketplace.listings.search import describe_missing
    from marketplace.models import Listing, Source

    model = register_configured_model()
    assert isinstance(model, EmbeddingModel)
    sources = [
        Source.objects.create(slug=f"source-{n}", title=f"Source {n}", kind="registry")
        for n in range(SOURCES)
    ]
    texts = _texts()
    Listing.objects.bulk_create(
        Listing(
            slug=f"listing-{number}",
            key=str(number),
            source=sources[number % SOURCES],
            category=NOUNS[number % len(NOUNS)],
            kind=("mcp", "skill")[number % 7 == 0],
            version="1.0",
            publisher=f"Publisher {number % 500}",
            readme="A paragraph of some length. " * 40,
            tools=[{"name": f"tool_{n}", "description": "What it does."} for n in range(8)],
            **next(texts),
        )
        for number in range(size)
    )
    Integration.objects.bulk_create(
        Integration(slug=f"i-{n}", title=f"I {n}", kind="mcp", listing=f"listing-{n}", version="0")
        for n in range(100)
    )
    describe_missing()
    vectors = np.random.default_rng(1).normal(size=(size, model.dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM marketplace_listingvector ORDER BY id")
        keys = [key for (key,) in cursor.fetchall()]
        cursor.executemany(
            "UPDATE marketplace_listingvector SET vector = %s::halfvec, vector_hash = text_hash"
            " WHERE id = %s",
            [(str(vector.tolist()), key) for key, vector in zip(keys, vectors, strict=True)],
        )
    connection.set_autocommit(True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _texts() -> Iterator[dict[str, Any]]:
    kinds = product(range(100), VERBS, NOUNS, PLACES)
    for number, verb, noun, place in kinds:
        yield {
            "title": f"{noun.title()} {number} for {place}",
            "description": f"It {verb} {noun} for {place}, number {number}, and tells of it.",
        }


def _words() -> Iterator[str]:
    for number, (verb, noun, place) in enumerate(product(VERBS, NOUNS, PLACES)):
        yield f"something+that+{verb}+{noun}+for+{place}+{number}"


def _print(size: int, taken: dict[str, list[float]]) -> None:
    beside = statistics.median(taken["sign in"])
    sys.stdout.write(
        f"{size:,} listings\n\n| page | ms, p50 / p95 | times sign in |\n|---|--:|--:|\n"
    )
    for name, values in taken.items():
        half, most = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        sys.stdout.write(f"| {name} | {half:.1f} / {most:.1f} | {half / beside:.1f} |\n")


if __name__ == "__main__":
    main()
