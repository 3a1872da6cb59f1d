"""Plays a demonstration week, so that Insights has something to show."""

import json
import logging
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress

from acl.models import ApiKey
from discovery.demo import (
    UNANSWERABLE,
    Backend,
    DemoError,
    DemoResult,
    PlannedTurn,
    Team,
    create_teams,
    demo_groups,
    move_rows,
    revoke_keys,
    times_of_week,
)
from discovery.evaluation import Labelled, read_queries
from discovery.models import Turn

BAD_TURNS = 12  # enough for an alert
FOLDER = Path("marketplace/starter/labelled")


class Command(BaseCommand):
    help = (
        "Play a week of four made-up groups by the API of a running Pegboard: messages of the "
        "starter collection's labelled set are planned and selected, tools are looked for, called "
        "and refused, outcomes are reported, and one space has a bad night that raises an alert. "
        "The API stamps everything with the time it is; afterwards the command moves the rows of "
        "its own turns (and of no others) back over the last seven days. Keys that it made are "
        "revoked at the end; groups and people whose names begin with 'Demo' and 'demo-' stay, and "
        "deleting them in the admin deletes all that they did. Where there are turns of others it "
        "refuses, since the figures of everyone would be mixed; --yes plays all the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="where Pegboard runs")
        parser.add_argument("--turns", type=int, default=400, help="how many in all")
        parser.add_argument("--seed", type=int, default=7, help="another number, another week")
        parser.add_argument("--yes", action="store_true", help="also beside turns of others")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["yes"] and Turn.objects.exclude(group__name__in=demo_groups()).exists():
            raise CommandError(
                "There are turns of others here, and a made-up week would be mixed into their "
                "figures. Say --yes to play it all the same."
            )
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request
        keys: list[ApiKey] = []
        try:
            with Progress(console=Console(stderr=True, quiet=options["json"])) as bars:
                bar = bars.add_task("A week", total=options["turns"])
                counts = _play(create_teams(keys), options, lambda: bars.advance(bar))
        except DemoError as problem:
            raise CommandError(str(problem)) from problem
        finally:
            revoke_keys(keys)
        text = json.dumps(counts) if options["json"] else _sentence(counts)
        self.stdout.write(text)


def _play(
    teams: list[Team], options: dict[str, Any], advance: Callable[[], None]
) -> dict[str, int]:
    """Play each team's turns in a thread of its own, in order; then move the rows."""
    messages = read_queries(settings.BASE_DIR / FOLDER)
    shares = [options["turns"] // len(teams)] * len(teams)
    shares[0] += options["turns"] - sum(shares)
    weeks = [
        _week(team, share, messages, _dice(options, number))
        for number, (team, share) in enumerate(zip(teams, shares, strict=True))
    ]
    done: list[DemoResult] = []

    def live(team: Team, week: list[PlannedTurn], dice: Random) -> None:
        backend = Backend(options["url"], team, dice)
        done.append(backend.played)
        try:
            for moment in week:
                backend.take(moment)
                advance()
        finally:
            backend.close()

    try:
        with ThreadPoolExecutor(len(teams)) as threads:
            dice = [_dice(options, 100 + number) for number in range(len(teams))]
            list(threads.map(live, teams, weeks, dice))
    finally:
        # After a failure, turns that were played move to their days, too.
        turns = {turn: at for played in done for turn, at in played.turns.items()}
        if turns and not Turn.objects.filter(pk__in=list(turns)[:1]).exists():
            raise CommandError(
                "The Pegboard at that address has another database than this command."
            )
        move_rows(turns)
    names = sorted({name for played in done for name in played.counts})
    return {name: sum(played.counts.get(name, 0) for played in done) for name in names}


def _week(team: Team, count: int, messages: list[Labelled], dice: Random) -> list[PlannedTurn]:
    """Plan the team's turns: mostly what it has tools for, rarely what nobody has."""
    bad = min(BAD_TURNS, count - 2) if team.name == "Support" else 0
    theirs = [message for message in messages if team.has(message.relevant)]
    week = []
    for at in times_of_week(timezone.now(), count - bad, dice):
        chance = dice.random()
        message = dice.choice(messages if chance < 0.06 else theirs)
        if chance < 0.02:
            message = Labelled(qid="", query=dice.choice(UNANSWERABLE), relevant=("tool:nowhere",))
        week.append(PlannedTurn(at, dice.choice(team.users), message))
    return sorted(week + _bad_night(team, bad, messages, dice), key=lambda moment: moment.at)


def _bad_night(team: Team, count: int, messages: list[Labelled], dice: Random) -> list[PlannedTurn]:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    night = hour - timedelta(days=2)
    return [
        PlannedTurn(
            night.replace(minute=4 * number), team.users[0], dice.choice(messages), bad=True
        )
        for number in range(count)
    ]


def _dice(options: dict[str, Any], number: int) -> Random:
    return Random(options["seed"] * 1000 + number)  # noqa: S311 - nothing secret


def _sentence(counts: dict[str, int]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"A week was played: {listed}. Look at /insights/."
