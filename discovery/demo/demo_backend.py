"""Turns by the API, as a chat backend takes them. Talks to the Pegboard that is named, and to
nobody else; what it sends are the labelled messages of the starter collection."""

from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

import httpx

from discovery.demo.cast import Team
from discovery.evaluation.scores import Labelled

# What nobody in the demo has a tool for; the last ones are looked for all the same.
NOWHERE = (
    "reorder the toner for the second floor printer",
    "unlock the bike room for the courier",
    "zyx qwv",
)
SECONDS = 90.0  # the first answer loads the model


class NotPlayed(Exception):
    """The Pegboard that was asked did not answer as it should."""


@dataclass(slots=True)
class Played:
    """What came of a team's week: its turns with the times they are moved to, and counts."""

    turns: dict[str, datetime] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        """One more."""
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn to be: when, by whom, about what, and whether it is in the bad night."""

    at: datetime
    user: str
    message: Labelled
    bad: bool = False


class Backend:
    """A chat backend of one team."""

    def __init__(self, url: str, team: Team, dice: Random) -> None:
        self._team, self._dice = team, dice
        self._http = httpx.Client(base_url=url, timeout=SECONDS)
        self.played = Played()

    def close(self) -> None:
        """Nothing is asked any more."""
        self._http.close()

    def take(self, moment: Moment) -> None:
        """One turn from its message to its outcome."""
        route = "select" if self._dice.random() < 0.3 else "plan"
        place = {"space": self._team.space} if moment.bad else {}
        who = {"user": moment.user, **place}
        told = self._ask(route, {"message": moment.message.query, **who}).json()
        turn = told["turn_id"]
        self.played.turns[turn] = moment.at
        self.played.count("turns")
        selected = {item["id"]: item["full_name"] for item in told["selected"]}
        called = self._called(moment, selected, turn, who)
        if any(called) and self._dice.random() < 0.3:
            self._execute(next(filter(None, called)), turn, who)
        if self._dice.random() < 0.92 or moment.bad:
            self._tell(turn, self._verdict(moment, called), called)

    def _called(
        self, moment: Moment, selected: dict[str, str], turn: str, who: dict[str, str]
    ) -> list[str]:
        """The tools that the message wants: the selected ones, else what a look finds."""
        others = moment.message.alternatives
        wanted = [(one, *others.get(one, ())) for one in moment.message.relevant]
        found = [next((selected[i] for i in ids if i in selected), "") for ids in wanted]
        if "" not in found:
            # Models often call something else that fits as well.
            return found if self._dice.random() < 0.97 else list(selected.values())[-1:]
        looked = self._look(moment.message.query, turn, who)
        names = [ids[0].partition(":")[2] for ids in wanted]
        return [
            hit or (name if name in looked else "") for hit, name in zip(found, names, strict=True)
        ]

    def _look(self, query: str, turn: str, who: dict[str, str]) -> set[str]:
        body = {"arguments": {"query": query}, "turn_id": turn, **who}
        answer = self._ask("meta/search_tools", body)
        self.played.count("looks")
        return set(_names_in(answer.json()))

    def _execute(self, name: str, turn: str, who: dict[str, str]) -> None:
        """A call through Pegboard; those that wait for a person are refused now and then."""
        about = self._http.get(
            f"/api/v1/capabilities/{name}",
            params={"detail": "full_schema", **who},
            headers=_bearer(self._team.key),
        ).json()
        arguments = _made_up(about.get("input_schema") or {})
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

    def _verdict(self, moment: Moment, called: list[str]) -> dict[str, Any]:
        dice = self._dice.random()
        if moment.bad:
            return {"status": "failed" if dice < 0.75 else "partial"}
        if "" in called:
            return {"status": "failed" if dice < 0.6 else "partial"}
        if dice < 0.25:
            return {}  # worked out by Pegboard
        return {"status": "success" if dice < 0.9 else "partial" if dice < 0.96 else "failed"}

    def _tell(self, turn: str, verdict: dict[str, Any], called: list[str]) -> None:
        told = self._ask(
            f"turns/{turn}/outcome", {**verdict, "called": [one for one in called if one]}
        )
        self.played.count("outcomes")
        if told.json()["alert"]:
            self.played.count("alerts")

    def _ask(self, path: str, body: dict[str, Any]) -> httpx.Response:
        try:
            answer = self._http.post(f"/api/v1/{path}", json=body, headers=_bearer(self._team.key))
        except httpx.HTTPError as problem:
            raise NotPlayed(f"{self._http.base_url} does not answer: {problem}") from problem
        if answer.status_code != 200:
            raise NotPlayed(
                f"POST /api/v1/{path} was answered {answer.status_code}: {answer.text[:200]}"
            )
        return answer


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _names_in(answer: Any) -> list[str]:
    """Every name in an answer of a meta-tool."""
    if isinstance(answer, dict):
        own = [value for key, value in answer.items() if key in {"name", "full_name"}]
        return own + [name for value in answer.values() for name in _names_in(value)]
    if isinstance(answer, list):
        return [name for value in answer for name in _names_in(value)]
    return []


def _made_up(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a plain schema takes; where it is a finer one, the call is not taken."""
    parts = schema.get("properties", {})
    return {name: _value(parts.get(name, {})) for name in schema.get("required", ())}


def _value(part: dict[str, Any]) -> Any:
    if part.get("enum"):
        return part["enum"][0]
    kinds = {"integer": 1, "number": 1, "boolean": True, "array": ["demo"], "object": {}}
    formats = {"date": "2026-03-02", "date-time": "2026-03-02T09:00:00Z", "email": "a@demo.example"}
    return kinds.get(part.get("type", "string"), formats.get(part.get("format", ""), "demo"))
