"""`manage.py backup FILE`: the whole database in one file, while Pegboard runs."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from marketplace.management.steps import told_in
from marketplace.operate.backups.backup_service import make_backup
from marketplace.operate.backups.postgres_programs import ProgramFailedError

KEYS = "The keys of sealed secrets are not inside: keep encryption_keys and secret_key elsewhere."


class Command(BaseCommand):
    help = "Write the database to a file, with checksums; the keys of secrets are not inside."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="the file, if there is one")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if file.exists() and not options["replace"]:
            raise CommandError(f"There is a file {file} already: name another, or add --replace.")
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        try:
            with Progress(console=console) as bars:
                manifest = make_backup(file, progress=told_in(bars))
        except (ProgramFailedError, OSError) as problem:
            raise CommandError(f"There is no backup: {problem}") from problem
        report = manifest | {"file": str(file), "keys_inside": False}
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=1))
        else:
            rows = sum(manifest["rows"].values())
            self.stdout.write(
                f"{file}: {rows:,} rows in {manifest['dump']['bytes']:,} bytes, read again and "
                f"right.\n{KEYS}"
            )
