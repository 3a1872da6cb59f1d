"""Embed all pending capabilities in this process, for deployments without a worker."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.jobs import embed_pending, pending_embeddings
from catalog.registration.embedding_models import (
    list_model_progress,
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)


class Command(BaseCommand):
    help = "Embed everything that is pending, in this process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        try:
            vectors = _run(console)
        except EmbedderUnavailable as problem:
            raise CommandError(str(problem)) from problem
        reason = pending_embeddings().exclude(failure="").values_list("failure", flat=True).first()
        if reason:
            raise CommandError(
                f"{pending_embeddings().count()} vectors are still pending: {reason}"
            )
        models = [asdict(progress) for progress in list_model_progress()]
        if options["json"]:
            self.stdout.write(json.dumps({"embedded": vectors, "models": models}))
            return
        for model in models:
            console.print(
                "{name}: {embedded} embedded, {pending} pending, {failed} failed".format(**model)
            )


def _run(console: Console) -> int:
    model = register_configured_model()
    request_missing_vectors()
    with Progress(console=console) as bars:
        task = bars.add_task("Embedding", total=None)
        vectors = embed_pending(
            progress=lambda done, total: bars.update(task, completed=done, total=total)
        )
    if model:
        switch_when_complete(model)
    return vectors
