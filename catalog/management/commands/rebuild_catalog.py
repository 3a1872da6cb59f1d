"""Recompute everything derived from definitions, and invalidate all caches."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import Progress

from catalog.embedding.jobs import pending_embeddings
from catalog.registration.catalog_rebuild import rebuild_catalog


class Command(BaseCommand):
    help = "Compute keywords, token estimates and missing vectors again, and drop every cache."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--force", action="store_true", help="embed everything again")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        with Progress(console=console) as bars:
            task = bars.add_task("Rebuilding", total=None)
            count = rebuild_catalog(
                by=None,
                force=options["force"],
                progress=lambda done, total: bars.update(task, completed=done, total=total),
            )
        report = {"capabilities": count, "pending": pending_embeddings().count()}
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            console.print(f"{count} capabilities rebuilt, {report['pending']} vectors to come")
