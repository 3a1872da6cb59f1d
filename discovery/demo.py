"""A demonstration week: teams, their turns through the API, and the days these are moved to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import httpx
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.utils import timezone

from acl.keys.lifecycle import create_key, revoke_key
from acl.models import ApiKey, Space
from acl.people.spaces import create_space, ensure_root
from catalog.access.grants import grant_integrations
from catalog.models import Integration
from discovery.evaluation import Labelled

# The cast of the demo: groups with tools, their people, spaces and keys.

PREFIX = "Demo "
LEAD = "demo-lead"
NIGHT = "Night shift"
EVERYBODY = ("tool_discovery", "calculator", "web-search", "tasks", "memory")
GROUPS: dict[str, tuple[str, ...]] = {
    "Support": ("gmail", "slack", "notifications", "translate", "summarize", "email-writing"),
    "Sales": ("gmail", "google_calendar", "whatsapp", "web-browser", "research", "news-search"),
    "Engineering": ("filesystem", "slack", "webhook", "cron", "code-review", "mcp", "settings"),
    "Office": ("google_calendar", "gmail", "weather", "teams", "meeting-notes", "sms", "cron"),
}
PEOPLE = ("amira", "ben", "chen", "dora")


@dataclass(frozen=True, slots=True)
class Team:
    """A group with its backend's key. The lead rejects its calls."""

    group: Group
    key: str
    leads_key: str
    users: tuple[str, ...]
    space: str
    slugs_granted: frozenset[str]

    @property
    def name(self) -> str:
        """Return the group's name without the prefix."""
        return self.group.name.removeprefix(PREFIX)

    def has(self, identifiers: tuple[str, ...]) -> bool:
        """Return True if the team has all of these tools."""
        names = (identifier.partition(":")[2] for identifier in identifiers)
        return all(name.partition("__")[0] in self.slugs_granted for name in names)


def demo_groups() -> list[str]:
    """Return the names that mark rows of the demo."""
    return [PREFIX + name for name in GROUPS]


def create_teams(keys: list[ApiKey]) -> list[Team]:
    """Create the missing teams; keys to revoke at the end are added to `keys`."""
    lead = _user(LEAD)
    return [_team(name, slugs, lead, keys) for name, slugs in GROUPS.items()]


def revoke_keys(keys: list[ApiKey]) -> None:
    """Revoke the demo's keys."""
    for key in keys:
        revoke_key(by=None, key=key)


def _team(name: str, slugs: tuple[str, ...], lead: User, keys: list[ApiKey]) -> Team:
    group, _ = Group.objects.get_or_create(name=PREFIX + name)
    users = [_user(f"demo-{name.lower()}-{person}") for person in PEOPLE]
    for user in (*users, lead):
        user.groups.add(group)
    slugs_granted = Integration.objects.filter(slug__in=(*slugs, *EVERYBODY))
    grant_integrations(integrations=slugs_granted, group=group, by=None)
    space = Space.objects.filter(group=group, name=NIGHT).first() or create_space(
        by=None, group=group, parent=ensure_root(group), name=NIGHT
    )
    scopes = ["select", "discover", "execute"]
    raw = _key(keys, group=group, scopes=scopes, acts_for_users=True)
    leads = _key(keys, group=group, scopes=["admin"], owner=lead)
    names = tuple(user.get_username() for user in users)
    return Team(group, raw, leads, names, space.slug, frozenset((*slugs, *EVERYBODY)))


def _user(name: str) -> User:
    """Return a user without a usable password."""
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def _key(keys: list[ApiKey], **about: object) -> str:
    soon = timezone.now() + timedelta(hours=1)
    key, raw = create_key(by=None, name="demo week", expires_at=soon, **about)  # type: ignore[arg-type]
    keys.append(key)
    return raw


# No team has a tool for these; the last ones are searched for all the same.
UNANSWERABLE = (
    "reorder the toner for the second floor printer",
    "unlock the bike room for the courier",
    "zyx qwv",
)
SECONDS = 90.0  # the first answer has to load the model


class DemoError(Exception):
    """The Pegboard under demonstration did not answer as expected."""


@dataclass(slots=True)
class DemoResult:
    """Result of a team's week: its turns with their times, and counts."""

    turns: dict[str, datetime] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        """Add one to a count."""
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """A planned turn: time, user, message, and whether it belongs to the bad night."""

    at: datetime
    user: str
    message: Labelled
    bad: bool = False


class Backend:
    """The chat backend of one team."""

    def __init__(self, url: str, team: Team, dice: Random) -> None:
        self._team, self._dice = team, dice
        self._http = httpx.Client(base_url=url, timeout=SECONDS)
        self.played = DemoResult()

    def close(self) -> None:
        """Close the HTTP client."""
        self._http.close()

    def take(self, moment: PlannedTurn) -> None:
        """Take one turn, from its message to its outcome."""
        route = "select" if self._dice.random() < 0.3 else "plan"
        place = {"space": self._team.space} if moment.bad else {}
        who = {"user": moment.user, **place}
        answer = self._ask(route, {"message": moment.message.query, **who}).json()
        turn = answer["turn_id"]
        self.played.turns[turn] = moment.at
        self.played.count("turns")
        selected = {item["id"]: item["full_name"] for item in answer["selected"]}
        called = self._called(moment, selected, turn, who)
        if any(called) and self._dice.random() < 0.3:
            self._execute(next(filter(None, called)), turn, who)
        if self._dice.random() < 0.92 or moment.bad:
            self._report(turn, self._verdict(moment, called), called)

    def _called(
        self, moment: PlannedTurn, selected: dict[str, str], turn: str, who: dict[str, str]
    ) -> list[str]:
        """Return the tools that the message needs, from the selection or else from a search."""
        others = moment.message.alternatives
        identifier_groups = [
            (identifier, *others.get(identifier, ())) for identifier in moment.message.relevant
        ]
        hits = [next((selected[i] for i in ids if i in selected), "") for ids in identifier_groups]
        if "" not in hits:
            # Models often call something else that fits as well.
            return hits if self._dice.random() < 0.97 else list(selected.values())[-1:]
        found_names = self._search(moment.message.query, turn, who)
        names = [ids[0].partition(":")[2] for ids in identifier_groups]
        return [
            hit or (name if name in found_names else "")
            for hit, name in zip(hits, names, strict=True)
        ]

    def _search(self, query: str, turn: str, who: dict[str, str]) -> set[str]:
        body = {"arguments": {"query": query}, "turn_id": turn, **who}
        answer = self._ask("meta/search_tools", body)
        self.played.count("looks")
        return set(_names_in(answer.json()))

    def _execute(self, name: str, turn: str, who: dict[str, str]) -> None:
        """Execute a call through Pegboard; half of those that wait for approval are rejected."""
        about = self._http.get(
            f"/api/v1/capabilities/{name}",
            params={"detail": "full_schema", **who},
            headers=_bearer(self._team.key),
        ).json()
        # Arguments for a plain schema; calls with a stricter one are refused.
        schema = about.get("input_schema") or {}
        parts = schema.get("properties", {})
        arguments = {name: _value(parts.get(name, {})) for name in schema.get("required", ())}
        body = {"name": name, "arguments": arguments, "turn_id": turn, **who}
        answer = self._http.post("/api/v1/execute", json=body, headers=_bearer(self._team.key))
        self.played.count("calls" if answer.status_code < 300 else "calls not taken")
        if answer.status_code == 202 and self._dice.random() < 0.5:
            self._refuse(answer.json()["call_id"])

    def _refuse(self, call: str) -> None:
        self._http.post(
            f"/api/v1/approvals/{call}/reject",
            json={"note": "Not to this customer."},
            headers=_bearer(self._team.leads_key),
        )
        self.played.count("refused")

    def _verdict(self, moment: PlannedTurn, called: list[str]) -> dict[str, Any]:
        dice = self._dice.random()
        if moment.bad:
            return {"status": "failed" if dice < 0.75 else "partial"}
        if "" in called:
            return {"status": "failed" if dice < 0.6 else "partial"}
        if dice < 0.25:
            return {}  # Pegboard infers the verdict
        return {"status": "success" if dice < 0.9 else "partial" if dice < 0.96 else "failed"}

    def _report(self, turn: str, verdict: dict[str, Any], called: list[str]) -> None:
        answer = self._ask(
            f"turns/{turn}/outcome", {**verdict, "called": [name for name in called if name]}
        )
        self.played.count("outcomes")
        if answer.json()["alert"]:
            self.played.count("alerts")

    def _ask(self, path: str, body: dict[str, Any]) -> httpx.Response:
        try:
            answer = self._http.post(f"/api/v1/{path}", json=body, headers=_bearer(self._team.key))
        except httpx.HTTPError as problem:
            raise DemoError(f"{self._http.base_url} does not answer: {problem}") from problem
        if answer.status_code != 200:
            raise DemoError(
                f"POST /api/v1/{path} was answered {answer.status_code}: {answer.text[:200]}"
            )
        return answer


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _names_in(answer: Any) -> list[str]:
    """Return every name in an answer of a meta-tool."""
    if isinstance(answer, dict):
        names = [value for key, value in answer.items() if key in {"name", "full_name"}]
        return names + [name for value in answer.values() for name in _names_in(value)]
    if isinstance(answer, list):
        return [name for value in answer for name in _names_in(value)]
    return []


def _value(part: dict[str, Any]) -> Any:
    if part.get("enum"):
        return part["enum"][0]
    kinds = {"integer": 1, "number": 1, "boolean": True, "array": ["demo"], "object": {}}
    formats = {"date": "2026-03-02", "date-time": "2026-03-02T09:00:00Z", "email": "a@demo.example"}
    return kinds.get(part.get("type", "string"), formats.get(part.get("format", ""), "demo"))


# Days of the demo week: the times of turns, and the UPDATEs that move their rows there.
#
# The API stamps rows with the current time. So the week is played within a minute or two, and then
# the rows of these turns alone are moved back: turns, outcomes, their alerts, calls, and
# experiences. Keys and the audit log stay, since nobody may change those.

# Relative load of each working hour.
HOURS = {7: 1, 8: 4, 9: 8, 10: 9, 11: 8, 12: 4, 13: 6, 14: 8, 15: 8, 16: 6, 17: 3, 18: 1, 20: 1}
_MOVED = """
FROM (SELECT t.id AS turn, t.created_at - moved.at AS by
      FROM (SELECT unnest(%(turns)s::uuid[]) AS turn, unnest(%(times)s::timestamptz[]) AS at) moved
      JOIN discovery_turn t ON t.id = moved.turn) moved
"""
_ALERTS = """
JOIN discovery_outcome o ON o.turn_id = moved.turn
WHERE row.group_id = o.group_id AND row.at = o.at
"""
# Dependent rows are shifted by as much as their turn is, and alerts by as much as their outcome: so
# alerts come first, and turns last.
_ROWS = (
    ("outcomealert", ("at",), _ALERTS),
    ("outcome", ("at",), "WHERE row.turn_id = moved.turn"),
    ("experience", ("created_at",), "WHERE row.turn = moved.turn"),
    (
        "call",
        ("created_at", "sent_at", "started_at", "decided_at", "ended_at"),
        "WHERE row.turn_id = moved.turn",
    ),
    (
        "turn",
        ("created_at", "executing_at", "degraded_at", "recovered_at", "ended_at"),
        "WHERE row.id = moved.turn",
    ),
)


def times_of_week(now: datetime, count: int, dice: Random) -> list[datetime]:
    """Draw `count` times of the past seven days, oldest first: busy by day, quiet at weekends."""
    times: list[datetime] = []
    while len(times) < count:
        day = now - timedelta(days=dice.randrange(7))
        if day.weekday() >= 5 and dice.random() < 0.8:
            continue
        [hour] = dice.choices(list(HOURS), list(HOURS.values()))
        at = day.replace(hour=hour, minute=dice.randrange(60), second=dice.randrange(60))
        if now - timedelta(days=7) < at < now - timedelta(minutes=10):
            times.append(at)
    return sorted(times)


@transaction.atomic
def move_rows(turns: Mapping[str, datetime]) -> None:
    """Move each turn to its time, with all dependent rows."""
    parameters: dict[str, Any] = {"turns": list(turns), "times": list(turns.values())}
    with connection.cursor() as cursor:
        for table, columns, which in _ROWS:
            earlier = ", ".join(f"{column} = row.{column} - moved.by" for column in columns)
            cursor.execute(
                f"UPDATE discovery_{table} AS row SET {earlier} {_MOVED} {which}",  # noqa: S608
                parameters,
            )
