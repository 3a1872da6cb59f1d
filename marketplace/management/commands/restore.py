"""`manage.py restore FILE`: restore a backup, while Pegboard runs or before its first start."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.progress import Progress

from marketplace.management.steps import show_progress
from marketplace.operate.backups.archive import BackupDamagedError
from marketplace.operate.backups.databases import CreateDatabaseDeniedError, ProgramFailedError
from marketplace.operate.backups.service import (
    RestoreRefusedError,
    RestoreResult,
    check_backup,
    restore_backup,
)

_REFUSED = (BackupDamagedError, CreateDatabaseDeniedError, RestoreRefusedError)


class Command(BaseCommand):
    help = "Restore a backup. A database in use is replaced in one step, and kept."
    requires_system_checks: list[str] = []  # the tables may not exist yet
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--yes", action="store_true", help="replace a database that is not empty"
        )
        parser.add_argument("--check", action="store_true", help="only verify the checksums")
        parser.add_argument(
            "--lose-secrets", action="store_true", help="restore without the keys of its secrets"
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        console = Console(stderr=True, quiet=options["json"] or not options["verbosity"])
        try:
            with Progress(console=console) as bars:
                restored = _run(file, options, show_progress(bars))
        except _REFUSED as problem:
            raise CommandError(str(problem)) from problem
        except (ProgramFailedError, DatabaseError, OSError) as problem:
            raise CommandError(f"Nothing was replaced: {problem}") from problem
        if options["json"]:
            self.stdout.write(json.dumps({"file": str(file), **asdict(restored)}, indent=1))
        elif options["check"]:
            self.stdout.write(f"{file} is intact: all checksums match.")
        else:
            self.stdout.write(_describe(restored))


def _run(file: Path, options: dict[str, Any], progress: Any) -> RestoreResult:
    if options["check"]:
        return RestoreResult(check_backup(file, progress=progress))
    return restore_backup(
        file,
        overwrite=options["yes"],
        lose_secrets=options["lose_secrets"],
        progress=progress,
    )


def _describe(restored: RestoreResult) -> str:
    lines = [f"Restored to {restored.manifest['made_at']}."]
    if restored.kept_as:
        lines.append(
            f"The previous database is kept as {restored.kept_as}; requests waited "
            f"{restored.waited_seconds:.1f} s."
        )
    if restored.migrated:
        lines.append(f"{len(restored.migrated)} newer migrations were applied.")
    lines.append(
        f"{restored.secrets_readable} sealed secrets can be read, {restored.secrets_lost} cannot."
    )
    return "\n".join(lines)
