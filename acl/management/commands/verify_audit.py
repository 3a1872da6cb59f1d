"""`manage.py verify_audit`: whether the audit log is whole, and what to note to know it later."""

import json
import re
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from acl.audit.archive import ArchiveRefused, read_archive
from acl.audit.log_verification import (
    Anchor,
    Checked,
    NoAnchorError,
    check_log,
    compare_with_anchors,
    read_anchors,
)
from acl.models import AuditArchive

DIGEST = re.compile(r"[0-9a-f]{64}")


class Command(BaseCommand):
    help = "Check the chain of the audit log; exit 1 and name the first entry that is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--expect", default="", metavar="HASH", help="A head that was noted elsewhere."
        )
        parser.add_argument(
            "--anchor", type=Path, metavar="FILE", help="Heads that PEGBOARD_AUDIT_ANCHOR noted."
        )
        parser.add_argument(
            "--archive", type=Path, metavar="FILE", nargs="+", default=[],
            help="Files of archive_audit, in their order.",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        expect = options["expect"].strip().lower()
        if expect and not DIGEST.fullmatch(expect):
            raise CommandError("--expect takes 64 hexadecimal digits, as this command prints them.")
        anchors = _anchors(options["anchor"])
        _check_archives(options["archive"])
        quiet = options["json"] or not options["verbosity"]
        with Progress(console=Console(stderr=True, quiet=quiet)) as bars:
            task = bars.add_task("Checking", total=None)
            checked = check_log(
                expect=expect,
                progress=lambda done, total: bars.update(task, completed=done, total=total),
            )
        if anchors and not checked.fault:
            checked = replace(checked, fault=compare_with_anchors(anchors))
        self._tell(checked, len(anchors), as_json=options["json"])

    def _tell(self, checked: Checked, anchors: int, *, as_json: bool) -> None:
        if as_json:
            report = {"sound": checked.fault is None, "entries": checked.entries, **asdict(checked)}
            report |= {"anchors": anchors}
            self.stdout.write(json.dumps(report))
        else:
            self.stdout.write(f"{checked.entries} entries are sound. Head: {checked.digest}")
        if checked.fault:
            raise CommandError(checked.fault.sentence)
        if anchors and not as_json:
            self.stdout.write(f"{anchors} anchors fit.")


def _check_archives(files: Sequence[Path]) -> None:
    """Raise CommandError unless each file is sound, follows the one before, and ends as the
    database says."""
    number, digest = 0, ""
    for file in files:
        try:
            archive = read_archive(file)
        except (OSError, ArchiveRefused) as problem:
            raise CommandError(f"{file} cannot be used: {problem}") from problem
        if digest and (archive.first, archive.previous) != (number + 1, digest):
            raise CommandError(f"{file.name} does not follow entry {number}.")
        number, digest = archive.number, archive.digest
        if not AuditArchive.objects.filter(number=number, digest=digest).exists():
            raise CommandError(f"{file.name} is not an archive of this log.")


def _anchors(file: Path | None) -> set[Anchor]:
    if file is None:
        return set()
    try:
        with file.open() as lines:
            anchors = set(read_anchors(lines))
    except (OSError, UnicodeDecodeError, NoAnchorError) as problem:
        raise CommandError(f"{file} cannot be used: {problem}") from problem
    if not anchors:
        raise CommandError(f"There is no anchor in {file}.")
    return anchors
