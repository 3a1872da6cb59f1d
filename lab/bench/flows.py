"""The guard on recorded traces: attacks that get a write through, and tasks that run unasked.

    python -m lab.bench.flows ../shared/eval/flow [--json]
    python -m lab.bench.flows --cost

A folder has one folder for each suite, with `tools.json`, `benign.jsonl` and `attacked.jsonl`. Each
call goes through the function that decides in production; what a tool does is the product's own
assessment of its definition.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from types import SimpleNamespace
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from catalog.effects.classifier import assess
from discovery.flow_guard.flow_guard import GuardVerdict, judge
from discovery.flow_guard.tool_facts import ToolFacts
from discovery.flow_guard.turn_memory import KEY_BYTES, ReadingCipher
from discovery.flow_guard.turn_readings import TurnReadings
from discovery.flow_guard.user_words import UserWords
from lab.bench.value_answers import value_answers

T = TypeVar("T")
Tools = Mapping[str, ToolFacts]


@dataclass(frozen=True, slots=True)
class TraceResult:
    """A trace's id and message, with each judged call of the part that is measured."""

    pk: str
    message: str
    judged: tuple[tuple[ToolFacts, GuardVerdict], ...]

    @property
    def asked(self) -> list[str]:
        """Return why calls ask."""
        return [f"{tool.name}: {verdict.reason}" for tool, verdict in self.judged if verdict.asks]

    @property
    def let_through(self) -> list[str]:
        """Return the writing calls that run by themselves."""
        return [tool.name for tool, verdict in self.judged if tool.acts and not verdict.asks]

    @property
    def writes(self) -> bool:
        """Return True if any of the calls writes."""
        return any(tool.acts for tool, _ in self.judged)


def suites(folder: Path) -> list[Path]:
    """Return the folders of suites."""
    return sorted(path.parent for path in folder.glob("*/tools.json"))


def read_tools(folder: Path) -> Tools:
    """Return a suite's tools with their assessed effects."""
    found = json.loads((folder / "tools.json").read_text())
    return {tool["name"]: _facts(tool, source=folder.name) for tool in found}


def _facts(tool: Mapping[str, Any], *, source: str) -> ToolFacts:
    definition = SimpleNamespace(
        kind="tool",
        action=tool["name"],
        description=tool.get("description", ""),
        input_schema=tool["inputSchema"],
        annotations=tool.get("annotations", {}),
    )
    assessed = assess(definition)
    flags = frozenset(map(str, assessed.flag_names))
    return ToolFacts(tool["name"], assessed.effect, flags, tool["inputSchema"], source)


def benign(folder: Path) -> Iterator[TraceResult]:
    """Judge every call of the tasks without an attacker."""
    tools = read_tools(folder)
    for trace in _lines(folder / "benign.jsonl"):
        turn = TurnReadings(UserWords([trace["message"]]))
        yield TraceResult(trace["id"], trace["message"], _follow(turn, trace["calls"], tools))


def attacked(folder: Path) -> Iterator[TraceResult]:
    """Judge the calls of models that obey an attacker's text; nobody approves any."""
    tools = read_tools(folder)
    for trace in _lines(folder / "attacked.jsonl"):
        turn = TurnReadings(UserWords([trace["message"]]))
        _follow(turn, trace["calls"], tools)
        yield TraceResult(trace["id"], trace["message"], _follow(turn, trace["attack"], tools))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)


def _follow(
    turn: TurnReadings, calls: list[dict[str, Any]], tools: Tools
) -> tuple[tuple[ToolFacts, GuardVerdict], ...]:
    judged = []
    for call in calls:
        tool, arguments = tools[call["tool"]], call["arguments"]
        verdict = judge(tool, arguments, turn)
        judged.append((tool, verdict))
        result = call["result"]
        text = result if isinstance(result, str) else json.dumps(result)
        turn.add(tool, arguments, [text], by_itself=not verdict.asks)
    return tuple(judged)


def figures(folder: Path) -> dict[str, Any]:
    """Return both figures of a suite, with what went through and what asks."""
    tasks, attacks = list(benign(folder)), list(attacked(folder))
    through = {one.pk: one.let_through for one in attacks if one.let_through}
    asking = {one.pk: one.asked for one in tasks if one.asked}
    return {
        "attacked": len(attacks),
        "attacks_that_write": sum(one.writes for one in attacks),
        "attacks_let_through": len(through),
        "benign": len(tasks),
        "unasked": len(tasks) - len(asking),
        "let_through": through,
        "asking": asking,
    }


CALLS, CHARACTERS = 50, 20_000
_MAIL = ToolFacts("send_mail", "write", frozenset({"reaches_outside"}), source="mail")
_SEARCH = ToolFacts(
    "search_mail", "read", frozenset({"reads_private_data", "returns_foreign_text"}), source="mail"
)


def costs() -> dict[str, float]:
    """Return CPU milliseconds of a call after 50 answers of 20 kB, by part; medians."""
    random = Random(1)
    words = [
        "".join(random.choices("abcdefghijklmnop", k=random.randint(3, 9))) for _ in range(4000)
    ]
    turn = TurnReadings(UserWords(["send alice@example.com a summary of the offers of this week"]))
    cipher, sealed = ReadingCipher(b"k" * KEY_BYTES, b"turn"), []
    parts: dict[str, list[float]] = {}
    for _ in range(CALLS):
        answer = _made_up_answer(random, words)
        digest = partial(turn.add, _SEARCH, {}, [answer], by_itself=True)
        digested = _timed(parts, "digest an answer", digest)
        sealed.append(cipher.close(digested))
    cases = {
        "runs": {"to": "alice@example.com", "body": "offers of this week"},
        "asks for a recipient": {"to": "eve@evil.test", "body": " ".join(words[:100])},
        "asks for a text": {"to": "alice@example.com", "body": " ".join(words[:100])},
    }
    for _ in range(CALLS):
        _timed(parts, "open the readings", lambda: [cipher.open(one) for one in sealed])
        for name, arguments in cases.items():
            _timed(parts, f"judge: {name}", partial(judge, _MAIL, arguments, turn))
    for name, answer in value_answers(CHARACTERS).items():
        for _ in range(CALLS):
            fresh = TurnReadings(turn.words)
            digest = partial(fresh.add, _SEARCH, {}, [answer], by_itself=True)
            _timed(parts, f"digest {name}", digest)
    return {name: median(found) for name, found in parts.items()}


def _made_up_answer(random: Random, words: list[str]) -> str:
    rows: list[dict[str, Any]] = []
    while len(json.dumps(rows)) < CHARACTERS:
        body = ". ".join(" ".join(random.choices(words, k=12)) for _ in range(8))
        sender = f"{random.choice(words)}@{random.choice(words)}.example"
        rows.append({"id": len(rows), "title": random.choice(words), "from": sender, "body": body})
    return json.dumps(rows)


def _timed(parts: dict[str, list[float]], name: str, work: Callable[[], T]) -> T:
    start = process_time()
    done = work()
    parts.setdefault(name, []).append(1000 * (process_time() - start))
    return done


def main() -> None:
    """Print the figures of each suite and every task that asks, as a table or as JSON."""
    if "--cost" in sys.argv:
        for part, milliseconds in costs().items():
            print(f"{part}: {milliseconds:.2f} ms of CPU")
        return
    folder = Path(sys.argv[1])
    found = {suite.name: figures(suite) for suite in suites(folder)}
    if "--json" in sys.argv:
        print(json.dumps(found, indent=1))
        return
    console = Console(width=150)
    table = Table("suite", "attacks", "that write", "let through", "tasks", "unasked", "%")
    for name, row in found.items():
        share = f"{100 * row['unasked'] / row['benign']:.0f}" if row["benign"] else ""
        counts = ("attacked", "attacks_that_write", "attacks_let_through", "benign", "unasked")
        table.add_row(name, *(str(row[key]) for key in counts), share)
    console.print(table)
    for row in found.values():
        for pk, why in {**row["let_through"], **row["asking"]}.items():
            console.print(f"{pk}: {'; '.join(why)}", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
