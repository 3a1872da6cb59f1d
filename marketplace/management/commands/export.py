"""`manage.py export [FILE]`: write the configuration as YAML."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.config_file.export_service import export_document
from marketplace.config_file.text import write_document


class Command(BaseCommand):
    help = "Write groups, spaces, rules, grants, integrations and policies as YAML. No secrets."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="printed if left out")
        parser.add_argument("--replace", action="store_true", help="overwrite an existing file")
        parser.add_argument(
            "--without-people",
            action="store_true",
            help="leave out what single people were granted, and the rules for them",
        )

    def handle(self, *args: Any, file: Path | None, **options: Any) -> None:
        if file is not None and file.exists() and not options["replace"]:
            raise CommandError(f"{file} already exists: choose another name, or add --replace.")
        text = write_document(export_document(people=not options["without_people"]))
        if file is None:
            self.stdout.write(text, ending="")
            return
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise CommandError(f"{file} could not be written: {problem}") from problem
        if options["verbosity"]:
            self.stderr.write(f"{file} is written.")
