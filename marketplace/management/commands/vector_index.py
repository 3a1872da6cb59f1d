"""`manage.py vector_index build|drop|status`: an index for callers of most of a large catalogue.

Building takes minutes for a million vectors; reads and writes go on meanwhile. After a change of
the model, build it again: each model has its own.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from catalog.embedding.vector_index import (
    LARGEST_DIMENSION,
    VectorIndex,
    create_statement,
    drop_indexes,
    find_index,
    size_of,
)
from catalog.models import EmbeddingModel
from marketplace.operate.roles.owner import as_owner

_MEMORY = re.compile(r"[1-9]\d{0,4}[MG]B")


def memory(text: str) -> str:
    """Return an amount as Postgres writes it."""
    if not _MEMORY.fullmatch(text):
        raise ArgumentTypeError("Write it as 512MB or 2GB.")
    return text


class Command(BaseCommand):
    help = (
        "Build, drop or show the index on vectors. It helps callers who may use most of a "
        "catalogue that is too large to be kept in memory (PEGBOARD_INDEX_MOST)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["build", "drop", "status"])
        parser.add_argument(
            "--memory",
            type=memory,
            default="2GB",
            help="memory of Postgres to build it in: 1.2 kB a vector are quickest (default: 2GB)",
        )

    def handle(self, *args: Any, action: str, memory: str, **options: Any) -> None:
        model = EmbeddingModel.objects.filter(active=True).first()
        if action == "build":
            self._build(model, memory)
        elif action == "drop":
            with as_owner():
                dropped = drop_indexes()
            self.stdout.write(f"Dropped: {', '.join(dropped)}." if dropped else "There is none.")
        else:
            self._show(model)

    def _build(self, model: EmbeddingModel | None, memory: str) -> None:
        if model is None:
            raise CommandError("No model has embedded anything yet: there is nothing to index.")
        if model.dimension > LARGEST_DIMENSION:
            raise CommandError(
                f"Vectors of {model} have {model.dimension} numbers. pgvector indexes at most "
                f"{LARGEST_DIMENSION}."
            )
        index = VectorIndex(model.pk, model.dimension)
        with as_owner():
            if find_index(model.name) is None:
                drop_indexes()  # those of other models, and one that was not finished
                with connection.cursor() as cursor:
                    cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [memory])
                    cursor.execute(create_statement(index))
        self._show(model)

    def _show(self, model: EmbeddingModel | None) -> None:
        index = find_index(model.name) if model else None
        if index is None:
            self.stdout.write("There is no index: large catalogues are ranked row by row.")
        else:
            self.stdout.write(f"{index.name}, of {model}, has {size_of(index)}.")
