"""`manage.py import_catalog PATH`: load a file or folder into the catalogue."""

import json
from argparse import ArgumentParser
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from catalog.embedding.jobs import pending_embeddings
from catalog.formats.descriptors import Renaming
from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.loader import load_path
from catalog.servers.client.document_readers import read_api_file
from marketplace.sources.refresh import Imported, import_loaded


class Command(BaseCommand):
    help = "Load a folder or file: skills, manifests, tool lists, catalogues, server entries."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--integration", help="the slug for entries that name no integration")
        parser.add_argument(
            "--source",
            default="",
            help="a name for this source, the same at every import (default: PATH)",
        )
        parser.add_argument(
            "--group", help="a group that may use the imported tools; created if missing"
        )
        parser.add_argument(
            "--prune",
            action="store_true",
            help="remove capabilities that the integrations no longer have",
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        if not path.exists():
            raise CommandError(f"There is no file or folder {path}.")
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        with Progress(console=console) as bars:
            reading = bars.add_task("Reading", total=None)
            limits = replace(DEFAULT_LIMITS, file=settings.PEGBOARD_MAX_FILE_BYTES)
            loaded = load_path(
                path, integration=options["integration"], limits=limits, read_api=read_api_file
            )
            bars.update(reading, completed=1, total=1)
            storing = bars.add_task("Storing", total=len(loaded.capabilities))
            name = options["group"]
            imported = import_loaded(
                loaded=loaded,
                by=None,
                source="import",
                came_from=options["source"] or str(path.resolve()),
                group=Group.objects.get_or_create(name=name)[0] if name else None,
                prune=options["prune"],
                progress=lambda done, total: bars.update(storing, completed=done, total=total),
            )
        if options["json"]:
            self.stdout.write(json.dumps(_summarize(imported), indent=1))
        else:
            _print_summary(imported, console)
        if not imported.loaded:
            raise SystemExit(1)


def _summarize(imported: Imported) -> dict[str, Any]:
    registered, listings = asdict(imported.registered), asdict(imported.listings)
    del registered["defects"], listings["defects"]
    return {
        "loaded": imported.loaded,
        "capabilities": registered,
        "listings": listings,
        "pending": pending_embeddings().count(),
        "defects": [asdict(defect) for defect in imported.defects],
    }


def _print_summary(imported: Imported, console: Console) -> None:
    for defect in imported.defects:
        done = "imported" if isinstance(defect, Renaming) else "not loaded"
        console.print(f"[yellow]{done}[/] {escape(str(defect))}")
    registered, listings = imported.registered, imported.listings
    for name in registered.held:
        console.print(f"[yellow]needs review[/] {escape(name)}")
    for slug in registered.unconfirmed:
        console.print(f"[yellow]not confirmed[/] {escape(slug)}")
    if registered.held:
        console.print("An admin can review them on the website, under Integrations.")
    if registered.unconfirmed:
        console.print(
            "Pegboard does not contact or start them until an admin has confirmed them: under "
            "Integrations, or by POST /api/v1/integrations/SLUG/confirm."
        )
    console.print(
        f"Capabilities: {registered.created} new, {registered.changed} changed, "
        f"{registered.unchanged} unchanged, {registered.removed} removed, "
        f"in {registered.integrations} integrations"
    )
    console.print(
        f"Listings: {listings.created} new, {listings.changed} changed, "
        f"{listings.unchanged} unchanged"
    )
    if listings.held:
        console.print(
            f"{listings.held} listings are hidden from everyone but admins: review their texts in "
            "the marketplace, under Held for review."
        )
    count = pending_embeddings().count()
    lost = [defect for defect in imported.defects if not isinstance(defect, Renaming)]
    console.print(f"{len(lost)} defects; {count} vectors pending")
