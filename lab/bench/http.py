"""Latency of POST /api/v1/select: gunicorn as in production, one client on loopback."""

import argparse
import http.client
import json
import random
import subprocess
import sys
import time
from typing import Any

import django
import psutil

from tests.ports import free_port


def main() -> None:
    """Print one JSON object with the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--calls", type=int, default=150)
    options = parser.parse_args()
    django.setup()
    print(json.dumps(measure(options.calls)))


def measure(calls: int) -> dict[str, Any]:
    """Measure cold and cached texts by random callers of the world in the database."""
    from lab.bench.selection import forget_vectors, spread, texts

    forget_vectors()
    port = free_port()
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "gunicorn", "marketplace.config.wsgi", "--worker-class", "gthread",
         "--workers", "1", "--threads", "4", "--bind", f"127.0.0.1:{port}",
         "--log-level", "warning"],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        client = _client(port)
        for text in texts("multi", 30):  # warm-up, with texts that are not used again
            _select(client, text)
        messages = texts("single", calls, seed=3)
        figures = {
            state: spread([_select(client, text) for text in messages])
            for state in ("cold", "cached")
        }
        return figures | {"resident": _resident_of_children(server.pid)}
    finally:
        server.terminate()
        server.wait()


def _client(port: int) -> http.client.HTTPConnection:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            client.request("GET", "/healthz")
            client.getresponse().read()
        except OSError:
            time.sleep(0.2)
        else:
            return client
    raise TimeoutError("gunicorn does not answer")


class _Keys:
    """Keys, one for each group."""

    def __init__(self) -> None:
        from django.contrib.auth.models import User

        self._people = list(User.objects.filter(groups__isnull=False).distinct().order_by("pk"))
        self._raw: dict[int, str] = {}
        self._dice = random.Random(5)

    def pick(self) -> tuple[str, str]:
        """Return a user name and the key of one of the user's groups."""
        from acl.keys.lifecycle import create_key

        person = self._dice.choice(self._people)
        group = self._dice.choice(list(person.groups.order_by("pk")))
        if group.pk not in self._raw:
            _, self._raw[group.pk] = create_key(
                by=None,
                name="bench",
                group=group,
                scopes=["select", "discover"],
                acts_for_users=True,
            )
        return person.username, self._raw[group.pk]


_keys: list[_Keys] = []


def _select(client: http.client.HTTPConnection, text: str) -> float:
    """Return the milliseconds of a request until the last byte."""
    if not _keys:
        _keys.append(_Keys())
    user, key = _keys[0].pick()
    body = json.dumps({"message": text, "user": user})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    started = time.perf_counter()
    client.request("POST", "/api/v1/select", body, headers)
    answer = client.getresponse()
    content = answer.read()
    taken = (time.perf_counter() - started) * 1000
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {content[:300]!r}")
    return taken


def _resident_of_children(pid: int) -> float:
    children = psutil.Process(pid).children(recursive=True)
    return max(float(child.memory_info().rss) for child in children) / 1_000_000


if __name__ == "__main__":
    main()
