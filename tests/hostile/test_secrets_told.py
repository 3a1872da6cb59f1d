"""SEC-2: secrets do not leak.

They are planted wherever secrets exist, everything is requested as everyone, and then every page,
answer, row, log line, message and Redis key is searched for them.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.db import connection
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from catalog.models import Integration
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.oauth._authorization_server import CLIENT, TOKEN, store_value
from catalog.servers.secrets.store import UnusableSecretError, set_secret
from catalog.servers.tasks import check_integration
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL, QUICK
from tests.factories import IntegrationFactory
from tests.hostile.asking import ask
from tests.hostile.routes import ROUTES, Row
from tests.hostile.tables import undone
from tests.hostile.world import World

CANARY = "kumquat-Vb83"
ABOUT = (
    *("integrations/", "tools/", "connections/", "marketplace/", "approvals/", "audit/", "access/"),
    *("api/v1/installations", "api/v1/capabilities", "api/v1/calls", "metrics"),
)


@pytest.fixture(autouse=True)
def loop(settings: Settings) -> Iterator[None]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield


def plant(world: World) -> list[Integration]:
    """Plant shared and personal secrets, an account's, our client's, and two servers'."""
    alice, root = world.alice, world.root
    Integration.objects.filter(pk=world.mail.pk).update(
        required_secrets=["TOKEN"], transport="http", endpoint="https://mail.example/${TOKEN}"
    )
    servers = [
        IntegrationFactory.create(
            slug=f"mulberry-{mode or 'fine'}",
            transport="stdio",
            command=[sys.executable, "-I", str(EVIL), mode],
            required_secrets=["TOKEN"],
            own_secrets=True,
        )
        for mode in ("", "crash", "crash_at_start")
    ]
    for row in (world.mail, *servers):
        set_secret(integration=row, name="TOKEN", value=f"{CANARY}-shared", by=root)
        set_secret(integration=row, name="TOKEN", value=f"{CANARY}-own", by=alice, user=alice)
        with pytest.raises(UnusableSecretError) as problem:
            set_secret(integration=row, name="TOKEN", value=f"{CANARY}\x00", by=root)
        assert CANARY not in str(problem.value)
    tokens = {"access": f"{CANARY}-access", "refresh": f"{CANARY}-refresh"}
    store_value(world.mail, None, TOKEN, tokens)
    store_value(world.mail, None, CLIENT, {"secret": f"{CANARY}-client"})
    return servers


def use(world: World, servers: list[Integration]) -> list[str]:
    """Start the servers, one of which prints its environment, and run what needs a worker."""
    told = []
    for row in servers:
        for tool in ("surroundings", "echo"):
            for user_id in (None, world.alice.pk):
                try:
                    told.append(repr(call_tool(row, tool, {}, user_id=user_id).content))
                except ServerProblemError as problem:
                    told.append(f"{problem!r} {problem.detail}")
        check_integration(row.pk)
    client = world.client("root")
    for path, body in (
        ("secrets", {"name": "TOKEN", "value": f"{CANARY}-typed"}),
        ("secrets", {"name": "oauth:x", "value": f"{CANARY}-typed"}),
        ("client", {"client_id": "x", "client_secret": f"{CANARY}-typed"}),
        ("check", {}),
        ("sign-in", {}),
    ):
        answer = client.post(f"/integrations/{world.mail.slug}/{path}/", body)
        told.append(f"{answer.status_code} {answer.content!r} {answer.headers}")
    own = f"/tools/connections/{world.mail.slug}/"
    wrong = world.client("alice").post(own, {"name": "TOKEN", "value": CANARY + "x" * 20_000})
    told.append(wrong.content.decode())
    return told


def answers(world: World) -> Iterator[tuple[str, str]]:
    """Request all routes about things with secrets, as everyone who gets in."""
    shown = [row for row in ROUTES if isinstance(row, Row) and row.route.startswith(ABOUT)]
    clients = {row.door.insider: world.client(row.door.insider) for row in shown}
    for row in shown:
        client = clients[row.door.insider]
        client.raise_request_exception = False
        for method in row.methods.replace("DELETE", "").split():
            with undone():
                response = ask(world, client, row, method)
                body = b"".join(response) if response.streaming else response.content
                yield f"{method} {row.route}", f"{body.decode(errors='replace')}{response.headers}"
    for path in ("secret", "integration", "oauthconnection", "healthcheck", "installation"):
        yield path, world.client("root").get(f"/admin/catalog/{path}/").content.decode()


def rows() -> str:
    """Return all columns of all tables as text."""
    texts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT string_agg(row::text, chr(10)) FROM "{table}" AS row')  # noqa: S608
            texts.append(str(cursor.fetchone()[0]))
    return "\n".join(texts)


def keys_of_redis() -> str:
    """Return everything in Redis, including the task queue."""
    client = redis.Redis.from_url(django_settings.REDIS_URL)
    read: dict[Any, Any] = {
        b"string": client.get,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"none": lambda key: "expired since it was listed",
    }
    return "".join(f"{key!r} {read[client.type(key)](key)!r}" for key in client.scan_iter())


def test_no_secret_is_told_anywhere(
    world: World,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    caplog.set_level("DEBUG")
    with django_capture_on_commit_callbacks(execute=True):
        servers = plant(world)
        used = use(world, servers)
    told = {f"told {number}": text for number, text in enumerate(used)}
    caplog.set_level("INFO")  # logging all statements of all pages would take a minute
    asked = dict(answers(world))
    printed = capfd.readouterr()
    everywhere = {
        **told,
        **asked,
        "rows": rows(),
        "redis": keys_of_redis(),
        "log": caplog.text,
        "printed": printed.out + printed.err,
    }

    assert [where for where, text in everywhere.items() if CANARY in text] == []
    assert "[hidden]" in used[0]  # the server did print it
    assert len(asked) > 50
    assert "servers.check_integration" in everywhere["redis"]
