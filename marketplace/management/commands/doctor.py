"""`manage.py doctor`: what is wrong with this installation, and the way out."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import override

from marketplace.operate.checkup.registry import ADVICE, OK, PROBLEM, run_checks

_SIGNS = {OK: "✓", ADVICE: "!", PROBLEM: "✗"}


class Command(BaseCommand):
    help = "Check this installation: what is wrong, and what to do. Exits with 1 for a problem."
    requires_system_checks: list[str] = []  # the database may be what is wrong
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        with override("en"):
            results = run_checks()
            if options["json"]:
                answer = [
                    {"name": result.check.name, "label": str(result.check.label)}
                    | {"state": result.state}
                    | result.finding.as_json(in_full=True)
                    for result in results
                ]
                self.stdout.write(json.dumps(answer, indent=1))
            else:
                for result in results:
                    finding = result.finding
                    sentences = " ".join(
                        filter(None, (finding.problem or finding.note, finding.remedy))
                    )
                    ending = f": {sentences}" if sentences else ""
                    self.stdout.write(f"{_SIGNS[result.state]} {result.check.label}{ending}")
        if any(result.state == PROBLEM for result in results):
            sys.exit(1)
