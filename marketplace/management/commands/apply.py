"""`manage.py apply FILE`: change the configuration to what a file says.

It exits with 0 if the file is in force, with 2 if changes or waiting entries are left, with 1 on
an error; then nothing was changed.
"""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from marketplace.config_file.apply_service import Applied, apply_text
from marketplace.config_file.text import MOST_CHARACTERS, ConfigurationRefused

PENDING = 2


class Command(BaseCommand):
    help = "Apply a configuration file in one step. Nothing is deleted without --prune."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file, or - for standard input")
        parser.add_argument(
            "--dry-run", action="store_true", help="only show what would change; exit with 2 if so"
        )
        parser.add_argument(
            "--prune", action="store_true", help="delete what the file's sections do not name"
        )
        parser.add_argument("--as", dest="user", help="the admin in whose name, with their rights")
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            applied = apply_text(
                by=_person(options["user"]),
                text=_read(file),
                source=file.name[:150],
                prune=options["prune"],
                dry_run=options["dry_run"],
            )
        except ConfigurationRefused as refused:
            if options["json"]:
                errors = [
                    {"line": problem.line, "path": problem.path, "reason": problem.reason}
                    for problem in refused.problems
                ]
                self.stdout.write(json.dumps({"errors": errors}, indent=1))
                raise SystemExit(1) from refused
            raise CommandError(f"Nothing was changed.\n{refused}") from refused
        if options["json"]:
            report = {"dry_run": options["dry_run"], **applied.as_json()}
            self.stdout.write(json.dumps(report, indent=1, ensure_ascii=False))
        elif options["verbosity"]:
            self._print(applied, dry_run=options["dry_run"])
        if applied.waiting or (applied.changes and options["dry_run"]):
            raise SystemExit(PENDING)

    def _print(self, applied: Applied, *, dry_run: bool) -> None:
        for change in applied.changes:
            self.stdout.write(str(change))
        for waiting in applied.waiting:
            self.stdout.write(str(waiting))
        for note in applied.notes:
            self.stdout.write(note)
        number, deletes = len(applied.changes), applied.deletes
        done = "Would change" if dry_run else "Changed"
        entries = "entry" if number == 1 else "entries"
        self.stdout.write(
            f"{done} {number} {entries}, of which {deletes} deleted."
            if number
            else "Nothing to change."
        )


def _person(name: str | None) -> User | None:
    if name is None:
        return None
    person = User.objects.filter(username=name, is_active=True, is_staff=True).first()
    if person is None:
        raise CommandError(f"There is no active admin called {name}.")
    return person


def _read(file: Path) -> str:
    try:
        if str(file) == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with file.open(encoding="utf-8") as lines:
            return lines.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandError(f"{file} cannot be read: {problem}") from problem
