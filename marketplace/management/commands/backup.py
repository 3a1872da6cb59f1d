"""`manage.py backup FILE`: write the whole database to a file, while Pegboard runs."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from marketplace.management.steps import show_progress
from marketplace.operate.backups.databases import ProgramFailedError
from marketplace.operate.backups.service import make_backup

KEYS = "The file contains no encryption keys: keep encryption_keys and secret_key elsewhere."


class Command(BaseCommand):
    help = "Write the database to a file, with checksums. The keys of secrets are not included."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="overwrite an existing file")
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if file.exists() and not options["replace"]:
            raise CommandError(f"{file} already exists: choose another name, or add --replace.")
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        try:
            with Progress(console=console) as bars:
                manifest = make_backup(file, progress=show_progress(bars))
        except (ProgramFailedError, OSError) as problem:
            raise CommandError(f"The backup failed: {problem}") from problem
        report = manifest | {"file": str(file), "keys_inside": False}
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=1))
        else:
            rows = sum(manifest["rows"].values())
            self.stdout.write(
                f"{file}: {rows:,} rows in {manifest['dump']['bytes']:,} bytes, verified.\n{KEYS}"
            )
