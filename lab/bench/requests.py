"""CPU time of each kind of request, and its ratio to a request that does nothing.

Part of `python -m lab.bench.cost --requests`; the catalogue, messages and processes are those of
that run. One client sends them one after the other, warm.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence

from lab.bench.load.product import Product

TIMES, WARM = 150, 40
EMPTY = "nothing (`/livez`)"
HEAD = (
    "\n| request | CPU ms: Postgres | web | Redis | together | ÷ nothing |\n"
    "|---|--:|--:|--:|--:|--:|"
)
# Sends requests one after the other, so many of them.
Send = Callable[[list[bytes], int], object]


def measure_requests(
    product: Product, key: str, messages: Sequence[str], names: Sequence[str], people: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of the table."""
    yield HEAD
    empty = 0.0
    for kind, requests in _kinds(key, messages, names, people).items():
        asyncio.run(_send(product, requests, WARM))
        before = product.cpu_by_process()
        asyncio.run(_send(product, requests, TIMES))
        after = product.cpu_by_process()
        cost = [
            (after[name] - before.get(name, 0.0)) * 1000 / TIMES
            for name in ("Postgres", "Web", "Redis")
        ]
        empty = empty or sum(cost)
        figures = " | ".join(f"{each:.1f}" for each in (*cost, sum(cost), sum(cost) / empty))
        yield f"| {kind} | {figures} |"


async def _send(product: Product, requests: list[bytes], times: int) -> None:
    from lab.bench.cost import closed_loop

    run = await closed_loop(product.port, requests, 1, most=times)
    if run.errors:
        sys.stderr.write(f"{run.errors.most_common(1)}\n")


def _kinds(
    key: str, messages: Sequence[str], names: Sequence[str], people: Sequence[str]
) -> dict[str, list[bytes]]:
    """Return the requests by kind, each from another person in turn."""

    def select(**fields: object) -> list[bytes]:
        return [
            _post(
                "/api/v1/select", key, {"message": text, "user": people[n % len(people)], **fields}
            )
            for n, text in enumerate(messages)
        ]

    def look(path: str, *more: str) -> list[bytes]:
        return [_get(f"/api/v1/{path}?{'&'.join((f'user={each}', *more))}", key) for each in people]

    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    return {
        EMPTY: [_get("/livez", key)],
        "select": select(),
        "select, three names": select(detail="name_only", max_tools=3),
        "one tool": [
            _get(f"/api/v1/capabilities/{name}?user={people[n % len(people)]}", key)
            for n, name in enumerate(names)
        ],
        "a page of 50": look("capabilities", "limit=50"),
        "categories": look("categories"),
        "tools/list": [_post("/mcp", key, listing, person=each) for each in people],
    }


def _get(path: str, key: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()


def _post(path: str, key: str, content: object, *, person: str = "") -> bytes:
    body = json.dumps(content).encode()
    acting = f"X-Pegboard-User: {person}\r\n" if person else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Mcp-Protocol-Version: 2025-11-25\r\n{acting}"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
