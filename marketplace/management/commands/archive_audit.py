"""`manage.py archive_audit FILE`: move the beginning of the audit log to a file."""

import json
from argparse import ArgumentParser
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.timezone import make_aware

from acl.audit.archive import ArchiveRefused, cut_log, last_to_archive, write_archive
from acl.audit.log_verification import check_log
from acl.platform.database_work import database_now
from marketplace.models import EventLogState
from marketplace.operate.roles.owner import as_owner


class Command(BaseCommand):
    help = "Write the oldest entries of the audit log to FILE, and delete them from the database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--before",
            type=date.fromisoformat,
            metavar="DATE",
            help="entries from before this day; without it, what PEGBOARD_AUDIT_DAYS does not keep",
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        number = last_to_archive(_moment(options["before"]))
        if settings.PEGBOARD_EVENT_LOG != "off":
            state = EventLogState.objects.first()
            number = min(number, state.audit_number if state else 0)  # the rest is not sent yet
        if number == 0:
            raise CommandError("No entry is that old.")
        if fault := check_log().fault:
            raise CommandError(f"The log is not sound, so nothing is archived: {fault.sentence}")
        try:
            archive = write_archive(file, number=number)
            with as_owner():
                removed = cut_log(archive, file=file)
        except (ArchiveRefused, OSError) as problem:
            raise CommandError(f"Nothing was deleted: {problem}") from problem
        if options["json"]:
            report = {"file": str(file), "last": archive.number, "digest": archive.digest}
            self.stdout.write(
                json.dumps(report | {"entries": removed, "checksum": archive.checksum})
            )
        else:
            self.stdout.write(
                f"{file}: entries {archive.first} to {archive.number}, sound. "
                f"{removed} were deleted from the database. SHA-256 {archive.checksum}"
            )


def _moment(day: date | None) -> datetime:
    if day is not None:
        return make_aware(datetime.combine(day, time.min))
    if not settings.PEGBOARD_AUDIT_DAYS:
        raise CommandError("PEGBOARD_AUDIT_DAYS keeps all entries: name a day with --before.")
    return database_now() - timedelta(days=settings.PEGBOARD_AUDIT_DAYS)
