"""`manage.py add WHAT`: add an address, a package, a command, a client's JSON or a document."""

import json
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from catalog.formats.openapi.api_choice import FIRST_LIMIT, ApiChoice
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.additions.recognition import LONGEST_DOCUMENT, NotRecognisedError
from marketplace.additions.requests import LEFT_OUT, add
from marketplace.installs.preparation import Prepared, prepare_install
from marketplace.installs.requests import AlreadyInstalledError, start_install
from marketplace.listings.details import OperationChoice, choose_operations, with_choice
from marketplace.models import Addition, Installation, Listing

_SECONDS = 90


@dataclass(slots=True)
class AddReport:
    """An addition: what it is and needs, and its installation if that has begun."""

    listing: str
    kind: str
    message: str
    target: str
    variables: list[dict[str, Any]]
    operations: dict[str, int] | None
    installation: str = ""
    state: str = ""


class Command(BaseCommand):
    help = (
        "Recognise WHAT, and say what it is and needs. With --group it is installed for that "
        "group. A worker must be running for addresses and documents, and for the installation."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", help="what to add; - or a file name reads it from there")
        parser.add_argument("--by", default="", help="the admin who adds it; the first by default")
        parser.add_argument("--name", default="", help="what it is called")
        parser.add_argument("--index", choices=["pypi", "npm"], default="", help="of a package")
        parser.add_argument("--address", default="", help="of the API, if its document says none")
        parser.add_argument(
            "--group", action="append", default=[], help="install it for this group"
        )
        parser.add_argument(
            "--tag", action="append", default=[], help="operations of this tag only"
        )
        parser.add_argument("--words", default="", help="operations with these words only")
        parser.add_argument("--limit", type=int, default=FIRST_LIMIT, help="at most so many")
        parser.add_argument("--yes", action="store_true", help="confirm the shown command")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, what: str, **options: Any) -> None:
        name = options["by"]
        admins = User.objects.filter(is_staff=True, is_active=True)
        condition = Q(username=name) if name else Q(is_superuser=True)
        admin = admins.filter(condition).order_by("pk").first()
        if admin is None:
            raise CommandError("There is no such admin.")
        by = admin
        try:
            rows = add(
                by=by,
                text=_read(what),
                name=options["name"],
                index=options["index"],
                api_address=options["address"],
            )
        except (NotRecognisedError, EndpointNotAllowedError) as refused:
            raise CommandError(str(refused)) from None
        reports: list[AddReport] = []
        try:
            for row in rows:
                if row.reason == LEFT_OUT:
                    self.stderr.write(row.message)
                    reports.append(
                        AddReport("", row.what, row.message, "", [], None, state="failed")
                    )
                    continue
                # Wait until a worker has looked at it.
                until = time.monotonic() + _SECONDS
                while row.state == Addition.State.LOOKING and time.monotonic() < until:
                    time.sleep(0.5)
                    row.refresh_from_db()
                reports.append(self._finish(by, row, options))
        finally:  # what has begun is told even if the next one is refused
            if options["json"]:
                self.stdout.write(json.dumps([asdict(report) for report in reports], indent=2))

    def _finish(self, by: User, row: Addition, options: dict[str, Any]) -> AddReport:
        if row.state != Addition.State.READY:
            raise CommandError(f"{row}: {row.message or 'No worker has looked at it yet.'}")
        listing = Listing.objects.get(slug=row.listing)
        prepared = prepare_install(by=by, listing=listing)
        if prepared is None or prepared.problem:
            raise CommandError(prepared.problem if prepared else "It cannot be installed.")
        chosen = choose_operations(
            listing, tags=options["tag"], words=options["words"], limit=options["limit"]
        )
        report = _tell(row, prepared, chosen)
        if not options["json"]:
            self._say(report, row)
        if options["group"]:
            installation = _install(by, prepared, chosen.choice if chosen else None, options)
            report.installation, report.state = str(installation.public_id), installation.state
        if not options["json"]:
            self._say_what_follows(report)
        return report

    def _say(self, report: AddReport, row: Addition) -> None:
        self.stdout.write(f"{report.listing}: {row.get_what_display()}. {report.message}")
        self.stdout.write(f"  It calls or starts: {report.target}")
        for variable in report.variables:
            needed = "needs" if variable["required"] else "takes"
            default = f" ({variable['default']})" if variable["default"] else ""
            about = f"{variable['name']}{default}. {variable['description']}".rstrip()
            self.stdout.write(f"  It {needed} {about}")
        if report.operations:
            chosen, total = report.operations["chosen"], report.operations["total"]
            self.stdout.write(f"  Operations: {chosen} of {total}.")

    def _say_what_follows(self, report: AddReport) -> None:
        if not report.installation:
            self.stdout.write("  Install it with --group, or on the marketplace's pages.")
            return
        self.stdout.write(f"  Installation {report.installation} has begun.")
        if report.state == Installation.State.CONFIGURE:
            self.stdout.write("  Its newest version is looked up. Confirm it on its page.")


def _tell(row: Addition, prepared: Prepared, chosen: OperationChoice | None) -> AddReport:
    descriptor = prepared.descriptor
    return AddReport(
        listing=row.listing,
        kind=row.what,
        message=row.message,
        target=descriptor.endpoint or " ".join(descriptor.command),
        variables=[
            {
                "name": variable.name,
                "required": variable.is_required,
                "description": variable.description,
                "default": variable.default,
            }
            for variable in prepared.variables
        ],
        operations={"chosen": len(chosen.chosen), "total": chosen.total} if chosen else None,
    )


def _install(
    by: User, prepared: Prepared, choice: ApiChoice | None, options: dict[str, Any]
) -> Installation:
    groups = list(Group.objects.filter(name__in=options["group"]))
    if missing := set(options["group"]) - {group.name for group in groups}:
        raise CommandError(f"There is no group {sorted(missing)[0]!r}.")
    if prepared.digest and not options["yes"]:
        command = " ".join(prepared.descriptor.command)
        raise CommandError(f"Confirm the command with --yes: {command}")
    try:
        return start_install(
            by=by,
            descriptor=with_choice(prepared.descriptor, choice),
            groups=groups,
            confirmed=prepared.digest or prepared.target_digest,
        )
    except AlreadyInstalledError as taken:
        raise CommandError(f"It is installed already: {taken}") from None


def _read(what: str) -> str:
    """Return the text itself, or that of standard input or a file."""
    if what == "-":
        return sys.stdin.read(LONGEST_DOCUMENT + 1)
    try:
        path = Path(what)
        if len(what) < 500 and "\n" not in what and path.is_file():
            return path.read_text(errors="replace")[: LONGEST_DOCUMENT + 1]
    except (OSError, ValueError):
        pass
    return what
