"""The demo's chat backend: turns through the API, with messages of the starter collection."""

from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

import httpx

from discovery.demo.cast import Team
from discovery.evaluation.scores import Labelled

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
        arguments = _sample_arguments(about.get("input_schema") or {})
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


def _sample_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for a plain schema; calls with a stricter one are refused."""
    parts = schema.get("properties", {})
    return {name: _value(parts.get(name, {})) for name in schema.get("required", ())}


def _value(part: dict[str, Any]) -> Any:
    if part.get("enum"):
        return part["enum"][0]
    kinds = {"integer": 1, "number": 1, "boolean": True, "array": ["demo"], "object": {}}
    formats = {"date": "2026-03-02", "date-time": "2026-03-02T09:00:00Z", "email": "a@demo.example"}
    return kinds.get(part.get("type", "string"), formats.get(part.get("format", ""), "demo"))
