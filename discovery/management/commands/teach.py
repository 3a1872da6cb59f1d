"""Teaches messages on the command line, as the page Teach does."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from acl.rights.caller_lookup import Caller, CallerRefused, caller_for
from discovery.models import TaughtMessage
from discovery.teaching.taught_messages import (
    Decision,
    TeachingRefusedError,
    decide,
    import_messages,
    learn_taught,
    offer_tools,
    open_proposals,
    propose_messages,
    shown_messages,
    taught_figures,
)

_HELP = (
    "Numbers or full names of the right tools; Enter takes the marked; d drops, s skips, q ends."
)


class Command(BaseCommand):
    help = "Propose messages for a group's tools, confirm them one by one, and show what changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="an admin's user name")
        parser.add_argument("--group", help="group name; the user's first group if left out")
        parser.add_argument("--propose", type=int, default=0, help="propose N messages, at most 50")
        parser.add_argument("--file", type=Path, help="propose the lines of a text file")
        parser.add_argument("--figures", action="store_true", help="ask nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        by, caller = _admin(options["user"], options["group"])
        if options["propose"] > 0:
            propose_messages(caller=caller, most=options["propose"])
        if options["file"]:
            import_messages(caller=caller, lines=_lines(options["file"]))
        if not options["figures"]:
            self._ask_all(by, caller)
        learn_taught()
        self._show(caller)

    def _ask_all(self, by: User, caller: Caller) -> None:
        waiting = list(open_proposals(caller))
        self.stdout.write(f"{len(waiting)} proposed. {_HELP}")
        for proposal in waiting:
            if not self._ask(by, caller, proposal):
                return

    def _ask(self, by: User, caller: Caller, proposal: TaughtMessage) -> bool:
        """Ask about one proposal; False ends."""
        offers = offer_tools(caller, proposal)
        self.stdout.write(f"\n{proposal.message}")
        for number, offer in enumerate(offers, 1):
            mark = "*" if offer.chosen else " "
            self.stdout.write(f" {mark}{number} {offer.full_name}  {offer.why}")
        while True:
            try:
                words = input("> ").split()
            except EOFError:
                return False
            if words in (["q"], ["s"]):
                return words == ["s"]
            names = [] if words == ["d"] else _names(words, [option.full_name for option in offers])
            names = names if words else [option.full_name for option in offers if option.chosen]
            if not names and words != ["d"]:
                continue
            try:
                decision = Decision(proposal.message, tuple(names))
                decide(by=by, caller=caller, decisions={proposal.pk: decision})
            except TeachingRefusedError as refused:
                self.stdout.write(str(refused))
                continue
            return True

    def _show(self, caller: Caller) -> None:
        figures = taught_figures(caller)
        table = Table(title=f"{figures.number} taught, {figures.pending} pending")
        for heading in ("message", "tools", "place before", "place after"):
            table.add_column(heading)
        for message in shown_messages(caller).prefetch_related("tools"):
            tools = ", ".join(tool.full_name for tool in message.tools.all())
            table.add_row(
                message.message, tools, _text(message.places_before), _text(message.places_after)
            )
        console = Console(file=self.stdout)  # type: ignore[arg-type]  # it writes as a file does
        console.print(table)
        console.print(
            f"recall@5 {figures.before_percent:.1f} → {figures.after_percent:.1f}; "
            f"{figures.better} found higher, {figures.worse} lower"
        )


def _admin(name: str, group: str | None) -> tuple[User, Caller]:
    try:
        user = User.objects.get(username=name, is_staff=True)
        return user, caller_for(user, group=group, space=None)
    except (User.DoesNotExist, CallerRefused) as problem:
        raise CommandError("There is no such active admin in that group.") from problem


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandError(f"{path} cannot be read: {problem}") from problem


def _names(words: list[str], offered: list[str]) -> list[str]:
    chosen = [
        offered[int(word) - 1] if word.isdecimal() and 0 < int(word) <= len(offered) else word
        for word in words
    ]
    return list(dict.fromkeys(chosen))


def _text(places: list[int]) -> str:
    return ", ".join(str(place) if place else "-" for place in places)
