"""Re-encrypt all secrets with the newest key."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from catalog.servers.secrets.encryption_keys import (
    SecretUnavailableError,
    add_key,
    keep_first_key,
    key_file,
)
from catalog.servers.secrets.sealed_values import RotationReport, rotate_secrets


class Command(BaseCommand):
    help = "Encrypt all secrets with the newest key."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-key", action="store_true", help="put a new key into the key file first"
        )
        parser.add_argument(
            "--forget-old", action="store_true", help="leave only the newest key in the key file"
        )
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        changes_file = options["new_key"] or options["forget_old"]
        if changes_file and settings.PEGBOARD_ENCRYPTION_KEYS:
            raise CommandError("The keys come from PEGBOARD_ENCRYPTION_KEYS: change them there.")
        if options["new_key"]:
            add_key(key_file())
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        try:
            rotated = _rotate(console)
        except SecretUnavailableError as problem:
            raise CommandError(str(problem)) from problem
        self._report(rotated, for_scripts=options["json"])
        if rotated.lost:
            raise CommandError(f"{len(rotated.lost)} secrets no longer have a key: set them again.")
        if options["forget_old"]:
            keep_first_key(key_file())

    def _report(self, rotated: RotationReport, *, for_scripts: bool) -> None:
        if for_scripts:
            body = {"sealed": rotated.sealed, "lost": rotated.lost}
            self.stdout.write(json.dumps(body))
        else:
            self.stdout.write(f"{rotated.sealed} secrets are encrypted with the newest key.")


def _rotate(console: Console) -> RotationReport:
    with Progress(console=console) as bars:
        task = bars.add_task("Sealing", total=None)
        return rotate_secrets(lambda done, total: bars.update(task, completed=done, total=total))
