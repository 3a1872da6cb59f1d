"""The overhead of calling a tool through Pegboard instead of directly.

    python -m lab.bench.execute          # 60 calls a second for 15 seconds, three rounds

Uses an echo server of the SDK on loopback, and the web server, the worker with the connections,
Postgres and Redis as `make run` starts them. Calls start at a fixed rate, however long earlier ones
take, and are timed from the moment at which they were due. Direct and indirect rounds alternate.
"""

import argparse
import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import django
import psutil

from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.pegboard_programs import ConnectionsProgram, Web
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis

WAYS = ("direct", "by Pegboard")
ECHO = "import uvicorn; from tests.connections.addresses import app_of_the_sdk as app; {}"
SERVE = "uvicorn.run(app('http'), port={}, log_level='error')"
CLIENTS = 16
TOOL = "echo__add"


def main() -> None:
    """Start the servers, and measure in a process that knows only them."""
    if os.environ.get("PEGBOARD_TEST_ECHO_PORT"):
        django.setup()
        measure()
        return
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as name:
        data = Path(name)
        open_data_folder(data)
        (data / "logs").mkdir(exist_ok=True)
        postgres, redis = EmbeddedPostgres(data), EmbeddedRedis(data)
        postgres.start()
        redis.start()
        try:
            postgres.create_database()
            command = [sys.executable, "-m", "lab.bench.execute", *sys.argv[1:]]
            environment = _environment(data, postgres.owner_url(), redis.url)
            if postgres.process is not None:
                environment["PEGBOARD_TEST_POSTGRES_PID"] = str(postgres.process.pid)
            subprocess.run(command, env=environment, check=True)  # noqa: S603
        finally:
            redis.stop()
            postgres.stop()


def _environment(data: Path, database: str, queue: str) -> dict[str, str]:
    from tests.ports import free_port

    echo = free_port()
    return os.environ | {
        "DATABASE_URL": database,
        "REDIS_URL": queue,
        "PEGBOARD_DATA_DIR": str(data),
        "PEGBOARD_SECRET_KEY": "only-for-benchmarks-and-never-for-anything-else",
        "PEGBOARD_LOG_LEVEL": "WARNING",
        "PEGBOARD_RATE_PER_KEY": "1000000",
        "PEGBOARD_RATE_PER_PERSON": "1000000",
        "PEGBOARD_CPU_PER_KEY": "100000000",
        "PEGBOARD_TEST_ECHO_PORT": str(echo),
        "PEGBOARD_CPU_PER_PERSON": "100000000",
        "PEGBOARD_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{echo}",
        "DJANGO_SETTINGS_MODULE": "marketplace.config.settings",
    }


def measure() -> None:
    """Measure in alternating rounds, then print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures: dict[str, list[float]] = {way: [] for way in WAYS}
    with _everything() as (web, echo, key, processes):
        _wake(web, key)
        _by_pegboard(web, key, options.rate, 2)
        before = _processor_seconds(processes)
        for _ in range(options.rounds):
            figures["direct"] += asyncio.run(_direct(echo, options.rate, options.seconds))
            figures["by Pegboard"] += _by_pegboard(web, key, options.rate, options.seconds)
        used = _processor_seconds(processes)
    tell("| way | calls | p50 ms | p95 ms | p99 ms |\n|---|--:|--:|--:|--:|")
    for way, times in figures.items():
        tell(f"| {way} | {len(times)} | " + " | ".join(f"{each:.1f}" for each in _spread(times)))

    count = len(figures["by Pegboard"])
    each = {name: (used[name] - before[name]) / count * 1000 for name in used}
    told = ", ".join(f"{name} {milliseconds:.1f}" for name, milliseconds in each.items())
    tell(f"Processor time of a call, in ms: {told} (the echo server's is for both ways).")


def _processor_seconds(processes: dict[str, int]) -> dict[str, float]:
    """Return each process's CPU seconds, including its children."""
    used = {}
    for name, pid in processes.items():
        parent = psutil.Process(pid)
        times = [each.cpu_times() for each in (parent, *parent.children(recursive=True))]
        used[name] = sum(each.user + each.system for each in times)
    return used


def tell(text: str) -> None:
    """Print a message for the person who runs it."""
    sys.stdout.write(f"{text}\n")


def _spread(times: list[float]) -> list[float]:
    parts = statistics.quantiles(times, n=100)
    return [parts[49], parts[94], parts[98]]


@contextmanager
def _everything() -> Iterator[tuple[int, int, str, dict[str, int]]]:
    """Start everything; yield the ports of both servers, a key, and the processes by name."""
    from catalog.servers.secrets.encryption_keys import add_key
    from tests.ports import free_port

    data = Path(os.environ["PEGBOARD_DATA_DIR"])
    add_key(data / "encryption_keys")
    web, echo = free_port(), int(os.environ["PEGBOARD_TEST_ECHO_PORT"])
    key, environment = _world(echo), dict(os.environ)
    server = subprocess.Popen([sys.executable, "-c", ECHO.format(SERVE.format(echo))])  # noqa: S603
    programs = [
        Web(host="127.0.0.1", port=web, logs=data / "logs", environment=environment),
        ConnectionsProgram(logs=data / "logs", environment=environment),
    ]
    try:
        for program in programs:
            program.start()
        processes = {"echo": server.pid, "Postgres": int(os.environ["PEGBOARD_TEST_POSTGRES_PID"])}
        for program in programs:
            if program.process is not None:
                processes[program.name] = program.process.pid
        yield web, echo, key, processes
    finally:
        for program in programs:
            program.stop()
        server.kill()  # it would wait for the session of this process
        server.wait()


def _world(echo: int) -> str:
    """Create alice, who may use one tool of the echo server, and a key that acts for her."""
    from django.core.management import call_command

    from acl.keys.lifecycle import create_key
    from tests.factories import (
        CapabilityFactory,
        GroupFactory,
        IntegrationFactory,
        UserFactory,
        give,
    )

    call_command("migrate", verbosity=0)
    group = GroupFactory.create(name="bench")
    UserFactory.create(username="alice", groups=[group])
    server = IntegrationFactory.create(
        slug="echo", transport="http", endpoint=f"http://127.0.0.1:{echo}/mcp"
    )
    give(server, group)
    number = {"type": "integer"}
    schema = {"type": "object", "properties": {"first": number, "second": number}}
    CapabilityFactory.create(
        integration=server, action="add", input_schema=schema, side_effect="write"
    )
    _, raw = create_key(by=None, name="bench", group=group, scopes=["execute"], acts_for_users=True)
    return raw


async def _direct(port: int, rate: float, seconds: float) -> list[float]:
    """Call through an open session of the SDK's client, as a backend would do by itself."""
    from catalog.servers.client.mcp_session import Session
    from catalog.servers.client.targets import HttpServer
    from catalog.servers.net.address_check import AllowedHosts

    server = HttpServer(f"http://127.0.0.1:{port}/mcp", {})
    session = Session(server, allowed=AllowedHosts.from_settings())
    await session.open()
    began, times = time.perf_counter() + 0.2, list[float]()

    async def one(place: int) -> None:
        due = began + place / rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        result = await session.call("add", {"first": place, "second": 1})
        assert result.content[0]["text"] == str(place + 1)
        times.append((time.perf_counter() - due) * 1000)

    try:
        await asyncio.gather(*(one(place) for place in range(int(rate * seconds))))
    finally:
        await session.close()
    return times


def _by_pegboard(port: int, key: str, rate: float, seconds: float) -> list[float]:
    """POST /api/v1/execute with clients that keep their connections."""
    free: SimpleQueue[http.client.HTTPConnection] = SimpleQueue()
    for _ in range(CLIENTS):
        free.put(http.client.HTTPConnection("127.0.0.1", port, timeout=30))
    began, times, lock = time.perf_counter() + 0.2, list[float](), threading.Lock()

    def one(place: int) -> None:
        due = began + place / rate
        time.sleep(max(0, due - time.perf_counter()))
        client = free.get()
        answer = _execute(client, key, place)
        free.put(client)
        assert answer.get("status") == "completed", answer
        assert answer["result"]["content"][0]["text"] == str(place + 1), answer
        with lock:
            times.append((time.perf_counter() - due) * 1000)

    _at_rate(one, int(rate * seconds))
    return times


def _wake(port: int, key: str) -> None:
    """Wait until a server listens."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(20):
        answer = _execute(client, key, 0)
        if answer.get("status") == "completed":
            return
        # The server's own definition differs from the one that `_world` made up, and a worker
        # that the bench does not start would bring it in.
        _sync_and_approve()
    raise SystemExit(f"No call is answered: {answer}")


def _sync_and_approve() -> None:
    """Read the definitions of the echo server, and approve them."""
    from django.contrib.auth.models import User

    from catalog.models import Integration
    from catalog.registration.definition_review import approve_definitions, list_waiting
    from catalog.servers.tasks import sync_definitions

    integration = Integration.objects.get(slug="echo")
    sync_definitions(integration.pk)
    digests = {row.name: row.proposed_hash for row in list_waiting(integration)}
    alice = User.objects.get(username="alice")
    approve_definitions(by=alice, integration=integration, digests=digests)


def _at_rate(one: Callable[[int], None], count: int) -> None:
    with ThreadPoolExecutor(CLIENTS) as threads:
        for done in [threads.submit(one, place) for place in range(count)]:
            done.result()


def _execute(client: http.client.HTTPConnection, key: str, place: int) -> Any:
    body = {"user": "alice", "name": TOOL, "arguments": {"first": place, "second": 1}}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    client.request("POST", "/api/v1/execute", json.dumps(body), headers)
    return json.loads(client.getresponse().read())


if __name__ == "__main__":
    main()
