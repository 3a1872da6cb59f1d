"""Addresses may be secrets themselves: no part of one that looks drawn at random is told.

Random ones are planted wherever Pegboard is told where to send something, each is tried and fails,
and then the log, the audit log, and every page and answer are searched for them.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

import pytest
from cryptography.fernet import Fernet
from django.contrib import admin
from django.contrib.postgres.fields import ArrayField
from django.db import DataError, IntegrityError, transaction
from django.db.models import CharField, JSONField, TextField
from django.urls import reverse
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from acl.models import AuditEntry
from catalog.formats.files import RefusedError
from catalog.formats.secret_redaction import word_address, word_addresses
from catalog.models import Integration
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.tasks import check_integration
from discovery.chats.models import ModelRefusedError, WantedModel, set_model
from marketplace.config.logs import word_texts
from marketplace.models import Addition, NotificationDelivery, Source
from marketplace.notifications.channels import ChannelRefused, NewChannel, add_channel, send_test
from marketplace.notifications.kinds.registry import ADDRESS_KINDS
from marketplace.notifications.tasks import deliver
from marketplace.sources.refresh import refresh_source
from marketplace.sources.subscriptions import add_source
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK
from tests.hostile.asking import ask
from tests.hostile.routes import ROUTES, Row
from tests.hostile.tables import undone
from tests.hostile.world import World
from tests.ports import free_port

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def base62(random: Random) -> str:
    return "".join(random.choices(LETTERS, k=24)) + "7q"


def in_hexadecimal(random: Random) -> str:
    return f"a7{random.getrandbits(96):024x}"


def as_uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


DRAWN: list[Callable[[Random], str]] = [base62, in_hexadecimal, as_uuid]


@pytest.fixture
def markers() -> list[str]:
    return [drawn(Random()) for drawn in DRAWN]


@pytest.fixture(autouse=True)
def loop(settings: Settings) -> Iterator[None]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield


def addresses(marker: str) -> list[str]:
    nowhere = f"127.0.0.1:{free_port()}"
    return [
        f"http://{nowhere}/hooks/{marker}/x",
        f"http://{nowhere}/mcp?at={marker}",
        f"http://{nowhere}/{marker}#{marker}",
        f"http://someone:{marker}@{nowhere}/mcp",
        f"http://{marker}@{nowhere}/mcp",
    ]


def fail_everywhere(world: World, markers: list[str]) -> list[str]:
    """Give each kind of thing each address, let it fail, and return what was said of it."""
    said: list[str] = []
    mail = Integration.objects.filter(pk=world.mail.pk)
    for address in [address for marker in markers for address in addresses(marker)]:
        for name, kind in ADDRESS_KINDS.items():
            query = "".join(f"&{parameter}=1" for parameter in kind.QUERY)
            target = address + (query if "?" in address else query.replace("&", "?", 1))
            wanted = NewChannel(name, ["reviews"], "https://pegboard.example/", address=target)
            try:
                channel, _ = add_channel(by=world.root, values=wanted)
                deliver(send_test(channel=channel).pk)
            except ChannelRefused as refused:
                said.append(str(refused))
        try:
            model = WantedModel("Near", "compatible", "tiny", address, "", [], 1_000)
            set_model(by=world.root, values=model)
        except ModelRefusedError as refused:
            said.append(str(refused))
        try:
            refresh_source(add_source(by=world.root, kind="registry", location=address).pk)
        except (EndpointNotAllowedError, RefusedError) as refused:
            said.append(str(refused))
        Addition.objects.create(what="address", address=address, by=world.root, state="failed")
        mail.update(transport="http", endpoint=address, required_secrets=[])
        try:
            call_tool(mail.get(), "send", {}, user_id=None)
        except ServerProblemError as problem:
            said.append(f"{problem!r} {problem.detail}")
        check_integration(world.mail.pk)
    user, path, query = markers
    plant_everywhere(addresses(user)[-1])
    # Where it fits, all of them in one address, so that one look at the pages is for each of them.
    plant_everywhere(f"http://{user}@127.0.0.1:{free_port()}/{path}/mcp?at={query}")
    return said


# Columns that hold an address in some table, alone or among other values.
HOLDING = re.compile(
    r"address|endpoint|location|issuer|resource|redirect_uris?|_url$"
    r"|^(command|headers|source_ref|descriptor|wanted)$"
)


def plant_everywhere(address: str) -> None:
    """Put the address into every column of every table of Django's admin that may hold one."""
    for model in admin.site._registry:
        for field in model._meta.concrete_fields:
            if not HOLDING.search(field.name) or field.choices or model is AuditEntry:
                continue
            value: object = address
            if isinstance(field, JSONField):
                value = {"transport": "http", "endpoint": address, "args": [f"--to={address}"]}
            elif isinstance(field, ArrayField):
                value = [address, f"--to={address}"]
            elif not isinstance(field, CharField | TextField):
                continue
            with suppress(IntegrityError, DataError), transaction.atomic():
                model._default_manager.update(**{field.name: value})


def admin_pages(world: World) -> Iterator[tuple[str, str]]:
    """Read each list of Django's admin, and a row's page, its history and its deletion."""
    client = world.client("root")
    for model in admin.site._registry:
        info = f"{model._meta.app_label}_{model._meta.model_name}"
        paths = [reverse(f"admin:{info}_changelist")]
        for pk in model._default_manager.values_list("pk", flat=True)[:2]:
            names = ("change", "history", "delete")
            paths += [reverse(f"admin:{info}_{name}", args=[pk]) for name in names]
        for path in paths:
            with undone():
                yield path, client.get(path).content.decode()


def answers(world: World) -> Iterator[tuple[str, str]]:
    """Read every page and answer, as someone who gets in."""
    shown = [row for row in ROUTES if isinstance(row, Row) and "GET" in row.methods]
    clients = {row.door.insider: world.client(row.door.insider) for row in shown}
    for row in shown:
        client = clients[row.door.insider]
        client.raise_request_exception = False
        with undone():
            response = ask(world, client, row, "GET")
            body = b"".join(response) if response.streaming else response.content
            yield row.route, f"{body.decode(errors='replace')}{response.headers}"
    yield from admin_pages(world)
    for path in ("/account/notifications/", "/api/v1/sources", "/api/v1/chat-models", "/audit/"):
        yield path, world.client("root").get(path).content.decode()


def test_no_address_is_told_with_what_makes_it_a_secret(
    world: World,
    markers: list[str],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        said = fail_everywhere(world, markers)
    asked = dict(answers(world))
    records = [word_texts(None, "", {"event": entry.getMessage()}) for entry in caplog.records]
    printed = capfd.readouterr()
    everywhere = {
        **asked,
        "said": str(said),
        "log": str(records) + printed.out + printed.err,
        "audit": str(list(AuditEntry.objects.values())),
        "deliveries": str(list(NotificationDelivery.objects.values())),
        "sources": str(list(Source.objects.values("title", "slug", "reason", "message"))),
    }

    told = {where for where, text in everywhere.items() for marker in markers if marker in text}
    assert told == set()
    assert len(asked) > 300
    acts = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"source.add", "chat_model.set", "notification.channel_added"} <= acts


@pytest.mark.parametrize("drawn", DRAWN)
def test_worded_address_says_where_it_leads_and_holds_nothing_drawn_at_random(
    drawn: Callable[[Random], str],
) -> None:
    for seed in range(200):
        marker = drawn(Random(seed))
        for address in addresses(marker):
            worded = word_address(address)
            assert marker not in worded
            assert "127.0.0.1" in worded
            assert word_address(worded) == worded
            assert marker not in word_addresses(f"GET {address!r} failed, see <{address}>.")


@pytest.mark.parametrize(
    "address",
    [
        "https://mcp.example.com/v1/tools/mcp",
        "https://example.com/api/get-customer-orders/2024-11-05",
        "https://registry.modelcontextprotocol.io/v0.1/servers",
        "https://github.com/example/mcp-server-collection/tree/main/skills",
        "https://mail.example/${TOKEN}/mcp?key=${KEY}",
        "uvx mcp-server-fetch",
        "/srv/pegboard/sources",
    ],
)
def test_plain_addresses_stay_readable(address: str) -> None:
    assert word_address(address) == address
