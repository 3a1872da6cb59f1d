"""A company's day in ten minutes: 300 people of four chat applications, while parts fail.

    python -m lab.bench.crowd                     # ten minutes
    python -m lab.bench.crowd --seconds 60 --people 50

Pegboard runs as `make run` starts it, on a folder of its own that goes afterwards. A worker is
killed, Redis stops answering for a tenth of the time, and Postgres is ended and comes back. At the
end the database is asked for every turn and call that an answer has named.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from lab.bench.machine import describe_machine
from tests.ports import free_port

APPLICATIONS = ("web-chat", "mobile", "support", "wiki")
MESSAGES = (
    "What is 15 % of 84?",
    "Schedule lunch with Tim on Friday at noon",
    "Email Bob that I am late, and add a task to call him back",
    "Which of my tasks are due this week?",
    "Wie spät ist es in New York?",
    "Summarize https://example.com/article and put it into my notes",
    "Convert 3 miles to kilometres",
    "thanks!",
)
# Seconds between two requests of a person, on average.
PAUSE = 20.0
# Shares of the time at which something happens.
KILL_WORKER, STOP_REDIS, REDIS_IS_BACK, KILL_POSTGRES = 0.2, 0.4, 0.5, 0.7
SET_UP = """
import json, sys
from django.contrib.auth.models import Group, User
from acl.models import Application
from acl.keys.lifecycle import create_key
group = Group.objects.get(name="everyone")
for number in range(int({people})):
    User.objects.create_user(f"person-{{number}}").groups.add(group)
keys = []
for name in {applications}:
    application = Application.objects.create(name=name)
    scopes = ["select", "discover", "execute"]
    _, raw = create_key(by=None, name=name, groups=[group], scopes=scopes, acts_for_users=True,
                        application=application)
    keys.append(raw)
print(json.dumps(keys))
"""
LOST = """
import json, sys
from discovery.models import Call, Turn
turns, calls = json.load(open({path!r}))
kept = set(map(str, Turn.objects.filter(pk__in=turns).values_list("pk", flat=True)))
rows = Call.objects.filter(pk__in=calls)
ended = rows.filter(state__in=Call.ENDED).count()
print(json.dumps([len(set(turns) - kept), len(set(calls)) - rows.count(), rows.count() - ended]))
"""


@dataclass(slots=True)
class Phase:
    """Answers to one kind of request in one phase."""

    milliseconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def line(self, name: str, kind: str) -> str:
        """Return the answers to a kind of request as a line of the table."""
        ordered = sorted(self.milliseconds) or [float("nan")]
        shares = (ordered[int(len(ordered) * share)] for share in (0.5, 0.95, 0.99))
        others = ", ".join(
            f"{count} x {what}" for what, count in self.outcomes.most_common() if what != "answered"
        )
        figures = " | ".join(f"{each:.0f}" for each in shares)
        return (
            f"| {name} | {kind} | {sum(self.outcomes.values())} | {others or 'all answered'} "
            f"| {figures} |"
        )


@dataclass(slots=True)
class Crowd:
    """The people, the phase of their day, and the turns and calls that answers named."""

    seconds: float
    began: float = field(default_factory=time.monotonic)
    phases: defaultdict[tuple[str, str], Phase] = field(default_factory=lambda: defaultdict(Phase))
    phase: str = "all is well"
    turns: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Return the share of the time that is over."""
        return (time.monotonic() - self.began) / self.seconds


def main() -> None:
    """Start Pegboard, send the crowd, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--people", type=int, default=300)
    options = parser.parse_args()
    with product() as (environment, port, supervisor):
        script = SET_UP.format(people=options.people, applications=APPLICATIONS)
        keys = json.loads(_shell(environment, script))
        crowd = Crowd(options.seconds)
        asyncio.run(_day(crowd, port, keys, options.people, supervisor))
        ids = Path(environment["PEGBOARD_DATA_DIR"]) / "ids.json"
        ids.write_text(json.dumps([crowd.turns, crowd.calls]))
        turns, calls, open_calls = json.loads(_shell(environment, LOST.format(path=str(ids))))
    _print(f"{describe_machine()}\n")
    _print("| while | request | times | but for the answered ones | p50 ms | p95 ms | p99 ms |")
    _print("|---|---|--:|---|--:|--:|--:|")
    for names, phase in crowd.phases.items():
        _print(phase.line(*names))
    _print(
        f"\nLost: {turns} of {len(crowd.turns)} turns, {calls} of {len(crowd.calls)} calls. "
        f"Calls that have not ended: {open_calls}."
    )


@contextmanager
def product() -> Iterator[tuple[dict[str, str], int, psutil.Process]]:
    """Run `manage.py up` until it is ready; yield its environment, port and process."""
    with tempfile.TemporaryDirectory(prefix="pegboard-crowd-") as folder:
        port = free_port()
        environment = {**os.environ, "PEGBOARD_DATA_DIR": folder}
        command = [sys.executable, "manage.py", "up", "--port", str(port)]
        with Path(folder, "up.log").open("w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603 - ourselves
        try:
            _wait_until_ready(port)
            yield environment, port, psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _wait_until_ready(port: int) -> None:
    for _ in range(300):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(1)
    raise SystemExit("Pegboard did not get ready in five minutes.")


def _shell(environment: dict[str, str], script: str) -> str:
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", script]
    output = subprocess.run(  # noqa: S603 - ourselves
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return output.stdout.strip().splitlines()[-1]


async def _day(
    crowd: Crowd, port: int, keys: list[str], people: int, supervisor: psutil.Process
) -> None:
    limits = httpx.Limits(max_connections=people)
    address = f"http://127.0.0.1:{port}/api/v1/"
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        failing = asyncio.create_task(_fail(crowd, supervisor))
        await asyncio.gather(
            *(_person(crowd, client, keys[number % len(keys)], number) for number in range(people))
        )
        await failing


async def _fail(crowd: Crowd, supervisor: psutil.Process) -> None:
    """Let parts of the product fail, each at its time."""
    await _until(crowd, KILL_WORKER)
    crowd.phase = "the workers are killed"
    for each in _parts(supervisor, "celery"):
        each.kill()
    await _until(crowd, STOP_REDIS)
    crowd.phase = "Redis does not answer"
    stopped = _parts(supervisor, "valkey-server")
    for each in stopped:
        each.suspend()
    await _until(crowd, REDIS_IS_BACK)
    for each in stopped:
        each.resume()
    crowd.phase = "Redis is back"
    await _until(crowd, KILL_POSTGRES)
    crowd.phase = "Postgres is killed and comes back"
    for each in _parts(supervisor, "bin/postgres"):
        each.kill()


async def _until(crowd: Crowd, share: float) -> None:
    await asyncio.sleep(max(0.0, (share - crowd.share) * crowd.seconds))


def _parts(supervisor: psutil.Process, name: str) -> list[psutil.Process]:
    """Return the supervisor's processes whose command names it, the outermost alone."""
    named_parts = [
        each for each in supervisor.children(recursive=True) if name in " ".join(each.cmdline())
    ]
    inner = {each.pid for part in named_parts for each in part.children(recursive=True)}
    return [each for each in named_parts if each.pid not in inner]


async def _person(crowd: Crowd, client: httpx.AsyncClient, key: str, number: int) -> None:
    chance = random.Random(number)
    headers = {"Authorization": f"Bearer {key}"}
    await asyncio.sleep(chance.random() * PAUSE)
    while crowd.share < 1:
        path, body = _request(chance)
        phase, sent = crowd.phases[crowd.phase, path], time.perf_counter()
        try:
            body["user"] = f"person-{number}"
            response = await client.post(path, json=body, headers=headers)
        except httpx.HTTPError as problem:
            phase.outcomes[type(problem).__name__] += 1
        else:
            phase.milliseconds.append((time.perf_counter() - sent) * 1000)
            phase.outcomes[_outcome(crowd, response)] += 1
        await asyncio.sleep(chance.expovariate(1 / PAUSE))


def _request(chance: random.Random) -> tuple[str, dict[str, Any]]:
    kind = chance.random()
    if kind < 0.75:
        return "select", {"message": chance.choice(MESSAGES)}
    if kind < 0.95:
        expression = f"{chance.randrange(1000)} * 3"
        return "execute", {"name": "calculator", "arguments": {"expression": expression}}
    return "discover", {"message": "something with mail"}


def _outcome(crowd: Crowd, response: httpx.Response) -> str:
    """Note what the answer promises, and name it."""
    if not response.is_success:
        waits = "with" if "retry-after" in response.headers else "without"
        return f"{response.status_code} {waits} Retry-After"
    body = response.json()
    if turn := body.get("turn_id"):
        crowd.turns.append(turn)
    if call := body.get("call_id"):
        crowd.calls.append(call)
    status = body.get("status", "completed")
    if status != "completed":
        return f"a call that is {status}"
    return "degraded" if body.get("degraded") else "answered"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
