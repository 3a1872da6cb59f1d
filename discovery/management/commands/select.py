"""Selects tools for a message on the command line."""

import json
from argparse import ArgumentParser
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from acl.rights.caller_lookup import Caller, CallerRefused, caller_for
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities


class Command(BaseCommand):
    help = "Show what would be selected for a message, and why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("message")
        parser.add_argument("--user", required=True, help="user name")
        parser.add_argument("--group", help="group name; the user's first group if left out")
        parser.add_argument("--space", help="slug of a space of the group")
        parser.add_argument("--max-tools", type=int, default=settings.PEGBOARD_MAX_TOOLS)
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        caller = _caller(options["user"], options["group"], options["space"])
        selection = select_capabilities(
            SelectRequest(message=options["message"], caller=caller, max_tools=options["max_tools"])
        )
        if options["json"]:
            # `noted` is binary data for a stored turn; `workings` is for pages.
            answer = asdict(replace(selection, noted=None, workings=None))
            del answer["noted"], answer["workings"]
            self.stdout.write(json.dumps(answer, default=str, indent=2))
        else:
            _show(selection)


def _caller(user: str, group: str | None, space: str | None) -> Caller:
    try:
        return caller_for(User.objects.get(username=user), group=group, space=space)
    except (User.DoesNotExist, CallerRefused) as problem:
        raise CommandError("There is no such active user in that group and space.") from problem


def _show(selection: Selection) -> None:
    table = Table(title=selection.reason)
    for heading in ("score", "name", "why"):
        table.add_column(heading)
    for item in selection.selected:
        table.add_row(f"{item.score:.2f}", item.full_name, "; ".join(item.reasons))
    console = Console()
    console.print(table)
    console.print(
        f"{selection.tokens_selected:,} of {selection.tokens_all:,} tokens, "
        f"{selection.excluded_count} left out, {selection.timings['total']:.1f} ms"
    )
    for problem in selection.degraded:
        console.print(f"degraded: {problem}")
