"""Load the watched folders once."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console
from rich.markup import escape

from catalog.formats.manifest_folders import watched_folders
from catalog.registration.manifest_reload import ReloadReport, reload_manifests


class Command(BaseCommand):
    help = "Load the CAPABILITY.yaml files of the watched folders, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--prune", action="store_true", help="remove capabilities whose manifests are gone"
        )
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        folders = watched_folders(settings.PEGBOARD_CAPABILITY_DIRS)
        report = reload_manifests(by=None, folders=folders, prune=options["prune"])
        paths = [str(folder) for folder in folders]
        if options["json"]:
            self.stdout.write(json.dumps({"folders": paths} | _report_body(report), indent=1))
        elif options["verbosity"]:
            _print_report(report, paths, Console(stderr=True, soft_wrap=True))
        if report.defects and not report.loaded:
            raise SystemExit(1)


def _report_body(report: ReloadReport) -> dict[str, Any]:
    registered = report.registered
    return {
        "loaded": report.loaded,
        "created": registered.created,
        "changed": registered.changed,
        "unchanged": registered.unchanged,
        "kept": report.kept,
        "gone": report.gone,
        "removed": report.removed,
        "defects": [asdict(defect) for defect in report.defects],
    }


def _print_report(report: ReloadReport, folders: list[str], console: Console) -> None:
    registered = report.registered
    console.print(f"Folders, in order of precedence: {escape(', '.join(folders))}")
    for defect in report.defects:
        console.print(f"[yellow]defect[/] {escape(str(defect))}")
    console.print(
        f"Capabilities: {registered.created} new, {registered.changed} changed, "
        f"{registered.unchanged} unchanged, {len(report.kept)} kept as they were, "
        f"{len(report.gone)} gone, {len(report.removed)} removed"
    )
    console.print(f"{len(report.defects)} defects in {report.files} files")
