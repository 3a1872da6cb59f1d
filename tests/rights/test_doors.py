"""Imported servers are neither contacted nor started before an admin has confirmed them.

Tasks, commands, formats, sources and routes are read from the product. New ones fail here until
they are listed with what they may reach, and why.
"""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from celery import Celery, current_app
from celery.app.task import Task
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.core.management import get_commands
from django.db import transaction
from django.http import QueryDict
from django.test import TestCase
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from acl.models import ClientDocument
from acl.platform.database_work import database_now
from acl.platform.redis_circuit import redis_circuit
from catalog.formats import catalog_jsonl, skill
from catalog.formats.loader import FORMATS, load_path
from catalog.models import (
    Capability,
    IconSource,
    Integration,
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
    Secret,
    ServerProposal,
)
from catalog.registration.manifest_reload import reload_manifests
from catalog.registration.register import register
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.oauth import tokens
from catalog.servers.oauth._authorization_server import TOKEN, store_value
from catalog.servers.secrets.sealed_values import seal
from discovery.models import AdvicePolicy, Call, ExampleRun, ModelRequest
from marketplace.models import (
    Addition,
    Installation,
    Listing,
    NotificationDelivery,
    Source,
)
from marketplace.offers.kinds.registry import CHOICES, KINDS
from marketplace.sources.refresh import import_loaded
from tests.calls.worker import run_call
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL
from tests.databases import check_what_was_deferred, taken_back
from tests.examples import EACH_OF_ALIKE
from tests.factories import CapabilityFactory, SourceFactory, give, waiting_call
from tests.formats.folders import SAMPLES
from tests.hostile.asking import parts_of, send
from tests.hostile.forms import post_forms
from tests.hostile.places import EVERY
from tests.hostile.routes import DJANGO_ADMIN, Row, named_by
from tests.hostile.world import World, build
from tests.rights.doors import Doors, recorded

REMOTE = "https://mail.imported.example/mcp"
PROGRAM = [sys.executable, "-I", str(EVIL)]

# A sample of each format, below tests/formats/samples.
SAMPLE_OF = {
    "manifest": "manifests",
    "docker_catalog": "docker",
    "toolhive": "toolhive",
    "obot": "obot",
    "deployment": "deployment",
    "server_json": "registry/server.json",
    "openapi": "openapi/library.yaml",
    "tools_list": "tools/tools-list.json",
    "extension": "lists/extensions.json",
    "mcp_json": "clients/desktop.json",
    "plugins": "plugins/marketplace.json",
    "tool": "tools/functions.json",
    "skill": "skills",
    "catalog_jsonl": "catalog",
}
# A source of each kind that is read locally, and the external addresses that it names.
SOURCE_OF = {
    "starter": "",
    "registry": "registry",
    "docker": "docker",
    "skills": "skills",
    "plugins": "plugins/marketplace.json",
    "mcp_json": "clients",
}

ANY_SOURCE = "*.sources.example"
# Each task with its arguments, and what it may reach while nothing is confirmed.
NOTHING: frozenset[str] = frozenset()
# An address that an admin entered; for a plugin marketplace, also the repositories that it names,
# which are downloaded from public addresses, unpacked and read. Nothing in them is executed.
SOURCES = frozenset({ANY_SOURCE, "codeload.github.com"})
TASKS: dict[str, tuple[Any, frozenset[str]]] = {
    "servers.check_integration": (Integration, NOTHING),
    "servers.sync_integration": (Integration, NOTHING),
    "servers.check_integrations": (None, NOTHING),
    "servers.sync_integrations": (None, NOTHING),
    "servers.prepare_sign_in": (OAuthSignIn, NOTHING),
    "servers.finish_sign_in": (OAuthSignIn, NOTHING),
    "servers.sweep_sign_ins": (None, NOTHING),
    "servers.renew_tokens": (None, NOTHING),
    "servers.sweep_calls": (None, NOTHING),
    "servers.sweep_requests": (None, NOTHING),
    # A token is revoked at the server that issued it, which an admin had confirmed.
    "servers.revoke_token": (OAuthRevocation, NOTHING),
    "servers.sweep_revocations": (None, NOTHING),
    # An installation's row was confirmed by an admin: the page showed its address or command.
    "servers.install": (Installation, NOTHING),
    "servers.sweep_installations": (None, NOTHING),
    "servers.tidy": (None, NOTHING),
    "servers.refresh_source": (Source, SOURCES),
    "servers.sweep_sources": (None, SOURCES),
    # Addresses that people gave for themselves, and admins for groups; here there is mail only.
    "servers.notify": (None, NOTHING),
    "servers.deliver_notification": (NotificationDelivery, NOTHING),
    # A chat model that an admin set; what is asked waits in Redis, by a digest.
    "servers.ask_for_examples": (ExampleRun, NOTHING),
    "servers.sweep_examples": (None, NOTHING),
    "discovery.measure_examples": (ExampleRun, NOTHING),
    "servers.answer_advice": (AdvicePolicy, NOTHING),
    # An address that an admin pasted. It gets no secret, and nothing is installed.
    "servers.ask_model": (ModelRequest, NOTHING),
    "servers.sweep_chats": (None, NOTHING),
    "servers.apply_terms": (None, NOTHING),
    "servers.look_at_addition": (Addition, SOURCES),
    "servers.sweep_additions": (None, SOURCES),
    # An icon's address, which gets no secret; only its pixels come back.
    "servers.read_icon": (IconSource, NOTHING),
    "servers.sweep_icons": (None, NOTHING),
    # An address that a signed-in person's browser was sent with. It gets no secret.
    "servers.read_client_document": (ClientDocument, NOTHING),
    "servers.sweep_client_documents": (None, NOTHING),
    # An address of the operator's settings, empty here.
    "servers.note_audit_head": (None, NOTHING),
    # The collector of the operator's variables, or standard output; here neither is set.
    "servers.send_events": (None, NOTHING),
    # The operator configures remote embeddings; here the model is local.
    "catalog.embed_capabilities": ("ids", NOTHING),
    "catalog.sweep_embeddings": (None, NOTHING),
    "catalog.expire_capabilities": (None, NOTHING),
    "marketplace.sweep_listings": (None, NOTHING),
    "marketplace.deliver_mail": (None, NOTHING),
    "discovery.forget_experiences": (None, NOTHING),
    "discovery.learn_taught": (None, NOTHING),
}
# Tasks that reach a server once it is confirmed; otherwise the test would prove nothing.
REACHING = {
    "servers.check_integration",
    "servers.sync_integration",
    "servers.check_integrations",
    "servers.sync_integrations",
    "servers.prepare_sign_in",
    "servers.finish_sign_in",
    "servers.sweep_sign_ins",
    "servers.renew_tokens",
}

OF_ACCOUNTS = {name for name in REACHING if "sign_in" in name or "token" in name}

# Actions by which an admin confirms, with what each may reach.
BY_AN_ADMIN = {
    # Installing confirms: the page and the preview show the address or command.
    "api/v1/installations": {"mcp.example.com"},
    "marketplace/listings/<slug:slug>/install/": {"mcp.example.com"},
    # The proposal's address is displayed beside the button.
    "marketplace/proposals/": {"mulberry.example.com", "finance.example.com"},
    "marketplace/proposals/<int:pk>/": {"mulberry.example.com"},
    # The admin enters the source's address, or refreshes an existing one.
    "api/v1/sources": {"example.com"},
    "api/v1/sources/<slug:slug>/refresh": {ANY_SOURCE},
    "marketplace/add-source/": {"example.com"},
    "marketplace/sources/": {ANY_SOURCE, "codeload.github.com"},
    "marketplace/sources/<slug:slug>/": {ANY_SOURCE},
    "marketplace/sources/<slug:slug>/refresh/": {ANY_SOURCE},
    # An admin entered the model's address, and a person sends a message there.
    "playground/chat/": {"models.example"},
    "playground/chat/<uuid:pk>/": {"models.example"},
    # The page compares both addresses, and the form sends the digest of the displayed one.
    "integrations/<slug:slug>/update/": {"mcp.example.com"},
    # The form is the confirmation: it displays the whole target and sends its digest.
    "integrations/<slug:slug>/confirm/": {"mail.imported.example", "program"},
}
# Commands that only the operator runs, with their purpose. Those that read third-party files are
# run by the tests of this file.
COMMANDS = {
    "import_catalog": "run here",
    "load_capabilities": "run here",
    "watch_capabilities": "the same in a loop",
    "load_starter": "run here",
    "embed_pending": "asks the operator's provider of embeddings",
    "rebuild_catalog": "reads our own tables",
    "vector_index": "changes our own tables",
    "rotate_secrets": "reads our own tables",
    "create_api_key": "writes our own tables",
    "turn_codes_off": "writes our own tables",
    "doctor": "reads our own tables, and greets the servers that the operator named",
    "verify_audit": "reads our own tables",
    "archive_audit": "reads our own tables, and writes a file",
    "demo_week": "asks our own API",
    "evaluate": "reads a file",
    "select": "reads our own tables",
    "teach": "reads a file, and writes our own tables",
    "add": "writes our own tables, and waits for a worker",
    "apply": "writes our own tables",
    "export": "reads our own tables",
    "backup": "starts Postgres's own programs",
    "restore": "starts Postgres's own programs",
    "migrate": "changes our own tables",
    "prepare_database": "changes our own tables",
    "set_up": "starts our own servers",
    "up": "starts our own servers",
    "broker": "answers at our own socket",
}

Queue = list[tuple[str, tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def _surroundings(settings: Settings) -> Iterator[None]:
    """Disable rate limits, allow programs, shorten logs."""
    for limit in ("PER_KEY", "PER_ADDRESS", "WRONG_KEYS"):
        setattr(settings, f"PEGBOARD_RATE_{limit}", 10_000_000)
    settings.AXES_FAILURE_LIMIT = 10_000_000
    settings.PEGBOARD_ENCRYPTION_KEYS = (KEY,)
    settings.PEGBOARD_LAUNCHERS = ("uvx", "npx", sys.executable)
    settings.PEGBOARD_SOURCE_DIRS = (str(SAMPLES),)
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    settings.PEGBOARD_APPROVE = "propose"
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 0
    redis_circuit.close()
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


KEY = Fernet.generate_key().decode()


@pytest.fixture(scope="module")
def built(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Imports of all kinds, by each way, in a transaction to roll back."""
    import_module("marketplace.config.celery_servers")
    current_app.loader.import_default_modules()
    with taken_back(django_db_blocker), pytest.MonkeyPatch.context() as patch:
        patch.setattr(django_settings, "PEGBOARD_ENCRYPTION_KEYS", (KEY,))
        world = build()
        import_everything()
        aim_at_what_is_imported(world)
        check_what_was_deferred()
        yield world


@pytest.fixture
def world(built: World, db: None) -> World:
    return built


def import_everything() -> None:
    """Import each format, as catalogue and listings, each kind of source, and a watched folder."""
    for name, sample in SAMPLE_OF.items():
        loaded = load_path(SAMPLES / sample)
        register(loaded, by=None, source="import", came_from=f"/srv/{name}")
        import_loaded(loaded=loaded, by=None, source="import", came_from=f"/srv/{name}")
    reload_manifests(by=None, folders=[SAMPLES / "manifests"])
    for kind, folder in SOURCE_OF.items():
        location = str(SAMPLES / folder) if folder else ""
        waits: dict[str, Any] = {"kind": kind, "state": Source.State.QUEUED}
        SourceFactory.create(slug=f"here-{kind}".replace("_", "-"), location=location, **waits)
        if kind not in Source.BUILT_IN:
            away = f"https://{kind.replace('_', '-')}.sources.example/all.tar.gz"
            SourceFactory.create(slug=f"away-{kind}".replace("_", "-"), location=away, **waits)
    for source in Source.objects.filter(location__regex=r"^https://[^.]+\.example$"):
        source.location = f"https://{source.slug}.sources.example/all.zip"
        source.save()


def aim_at_what_is_imported(world: World) -> None:
    """Point the routes' rows at imported, unconfirmed things that look as if in use."""
    theirs = Integration.objects.filter(pk__in=[world.mail.pk, world.payroll.pk])
    theirs.update(transport="http", endpoint=REMOTE, unconfirmed=True)
    Integration.objects.filter(unconfirmed=True).update(
        connection=Integration.Connection.FAILING, own_secrets=True, required_secrets=[]
    )
    Secret.objects.filter(sealed=b"sealed").delete()  # not sealed by any key
    for row in Integration.objects.filter(unconfirmed=True):
        use(row, world)
    earlier = database_now() - timedelta(minutes=2)
    OAuthSignIn.objects.update(created_at=earlier)
    for model in (Call, Source, Installation, Addition):
        model.objects.update(sent_at=earlier)


def use(row: Integration, world: World) -> None:
    """Create all the work that a worker might find: sign-ins, expiring tokens, calls."""
    address = f"https://{row.slug}.imported.example/token"
    for state in (OAuthSignIn.State.PREPARING, OAuthSignIn.State.FINISHING):
        begun = OAuthSignIn.objects.create(
            integration=row, user=world.alice, by=world.alice, state=state,
            ticket_digest=f"{row.pk} {state}", redirect_uri="https://pegboard.example/",
            details={
                "issuer": address, "token_endpoint": address, "tells_issuer": False,
                "redirect_uri": "https://pegboard.example/", "resource": address,
            },
        )  # fmt: skip
        begun.sealed_code = seal(json.dumps(["code", ""]), purpose=begun.purpose)
        begun.sealed_verifier = seal("verifier", purpose=begun.purpose)
        begun.save()
    OAuthClient.objects.update_or_create(
        integration=row, defaults={"client_id": "x", "issuer": address, "auth_method": "none"}
    )
    OAuthConnection.objects.update_or_create(
        integration=row,
        user=world.alice,
        defaults={
            "endpoint": row.endpoint, "issuer": address, "token_endpoint": address,
            "can_refresh": True, "expires_at": database_now(),
        },
    )  # fmt: skip
    store_value(row, world.alice.pk, TOKEN, {"access": "x", "refresh": "y"})
    tool = row.capabilities.first() or CapabilityFactory.create(integration=row, action="go")
    give(row, world.mulberry)
    call = waiting_call(world.alice, world.mulberry, tool, "x")
    Call.objects.filter(pk=call.pk).update(
        state="queued", needs_approval=False, definition_hash=tool.definition_hash
    )


@pytest.fixture
def doors() -> Iterator[Doors]:
    """Record what leaves the process. Circuit breakers are reset, so that failing servers are
    retried."""
    policy = Policy(failures=1_000_000, first_pause=0, longest_pause=0)
    with own_connections(lambda: ConnectionPool(policy=policy)), recorded() as doors:
        yield doors


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    """Collect tasks that are sent."""
    sent: Queue = []

    def by_name(_: Celery, name: str, args: Any = (), *more: Any, **options: Any) -> None:
        sent.append((name, tuple(args or ())))

    def itself(task: Task, args: Any = (), *more: Any, **options: Any) -> None:
        sent.append((task.name, tuple(args or ())))

    monkeypatch.setattr(Celery, "send_task", by_name)
    monkeypatch.setattr(Task, "apply_async", itself)
    return sent


def work_off(queue: Queue, before: set[Any]) -> None:
    """Run each collected task once, and each queued call."""
    done: set[str] = set()
    while queue:
        task = queue.pop(0)
        if str(task) not in done:
            done.add(str(task))
            run_task(*task)
    for pk in set(Call.objects.filter(state="queued").values_list("pk", flat=True)) - before:
        run_call(pk)


def run_task(name: str, arguments: tuple[Any, ...]) -> None:
    current_app.tasks[name].run(*arguments)


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_every_task_is_listed(world: World) -> None:
    assert {name for name in current_app.tasks if not name.startswith("celery.")} == set(TASKS)
    scheduled = {entry["task"] for entry in django_settings.CELERY_BEAT_SCHEDULE.values()}
    assert scheduled <= set(TASKS)


def test_every_format_source_and_command_is_listed() -> None:
    modules = (*FORMATS, skill, catalog_jsonl)
    formats = {module.__name__.rpartition(".")[2] for module in modules}  # type: ignore[attr-defined]
    apps = {"acl", "catalog", "discovery", "marketplace"}
    commands = {name for name, app in get_commands().items() if app in apps}

    assert formats == set(SAMPLE_OF)
    assert set(KINDS) == set(SOURCE_OF)
    assert set(dict(CHOICES)) - set(SOURCE_OF) == {Source.IMPORT, Source.BY_HAND}
    assert commands == set(COMMANDS)


def test_everything_that_could_be_reached_waits_for_an_admin(world: World) -> None:
    imported = Integration.objects.exclude(transport="").exclude(came_from="")

    assert imported.filter(unconfirmed=False).count() == 0
    assert {row.transport for row in imported} >= {"stdio", "http"}
    assert {row.came_from.removeprefix("/srv/") for row in imported} >= {
        "docker_catalog", "mcp_json", "server_json", "toolhive",
    }  # fmt: skip
    assert Listing.objects.exclude(transport="").count() >= 5
    assert ServerProposal.objects.exists()


def test_no_task_reaches_or_starts_what_nobody_has_confirmed(
    world: World, doors: Doors, queue: Queue
) -> None:
    for name, (given, _) in TASKS.items():
        with undone(), doors.asked_by(name):
            run_everywhere(name, given)
            work_off(queue, set())

    allowed = {name: reach for name, (_, reach) in TASKS.items()}
    assert beyond(doors, allowed) == {}
    assert "codeload.github.com" in doors.seen["servers.refresh_source"]


def run_everywhere(name: str, given: Any) -> None:
    """Run the task with every possible argument."""
    if given is None:
        run_task(name, ())
    elif given == "ids":
        run_task(name, (list(Capability.objects.values_list("pk", flat=True)[:3]),))
    else:
        for pk in given.objects.values_list("pk", flat=True):
            with undone():
                run_task(name, (pk,))


def beyond(doors: Doors, allowed: Any) -> dict[str, set[str]]:
    """Return the contacted targets that the table does not allow."""
    found = {
        who: {target for target in targets if not may_reach(target, allowed.get(who, ()))}
        for who, targets in doors.seen.items()
    }
    return {who: targets for who, targets in found.items() if targets}


def may_reach(target: str, allowed: Any) -> bool:
    if target.startswith("program"):
        return "program" in allowed
    return any(target == one or target.endswith(one.removeprefix("*")) for one in allowed)


def test_no_call_is_sent_to_what_nobody_has_confirmed(world: World, doors: Doors) -> None:
    calls = list(Call.objects.filter(state="queued"))
    assert len(calls) >= 5

    for call in calls:
        run_call(call.pk)

    ended = Call.objects.filter(pk__in=[call.pk for call in calls])
    assert {(call.state, call.reason) for call in ended} == {("failed", "not_confirmed")}
    assert doors.seen == {}


@pytest.mark.parametrize("kind", ["address", "program"])
def test_tasks_do_reach_it_once_it_is_confirmed(
    world: World, doors: Doors, queue: Queue, kind: str
) -> None:
    confirm(world, kind)
    reaching = {name for name in REACHING if kind == "address" or name not in OF_ACCOUNTS}
    for name in reaching:
        tokens._pauses.clear()  # each is the first after a pause
        with undone(), doors.asked_by(name):
            run_everywhere(name, TASKS[name][0])
            work_off(queue, set())

    assert set(doors.seen) == reaching


def confirm(world: World, kind: str) -> None:
    program = {"transport": "stdio", "endpoint": "", "command": PROGRAM}
    Integration.objects.filter(pk=world.mail.pk).update(
        unconfirmed=False, **(program if kind == "program" else {})
    )


@pytest.mark.parametrize("kind", ["address", "program"])
def test_no_page_and_no_call_of_the_api_leads_there(
    world: World, doors: Doors, queue: Queue, kind: str
) -> None:
    rows = LEADING
    if kind == "program":
        Integration.objects.filter(pk__in=[world.mail.pk, world.payroll.pk]).update(
            transport="stdio", endpoint="", command=PROGRAM
        )
        rows = [row for row in LEADING if named_by(row) & ABOUT_IT]

    ask_all(world, rows, doors, queue)

    assert beyond(doors, BY_AN_ADMIN) == {}


# Of Django's admin, tables about external things: all its forms end in one view. The OpenAPI schema
# takes no input, and takes seconds to build.
_TABLES = re.compile(
    r"admin/(catalog|marketplace)/(integration|capability|oauth\w+|secret|serverproposal|source"
    r"|listing|installation|definition)/<path:object_id>/change/$"
)
LEADING = [
    row
    for row in EVERY
    if (row.door is not DJANGO_ADMIN or _TABLES.fullmatch(row.route))
    and row.route not in ("api/schema/", "api/docs/")
]
ABOUT_IT = {"integration", "integration_pk", "capability", "capability_pk", "call_pk", "sign_in"}


def ask_all(world: World, rows: list[Row], doors: Doors, queue: Queue) -> None:
    """Request each route as each insider, submit each form of its page, and run the worker."""
    before = set(Call.objects.filter(state="queued").values_list("pk", flat=True))
    sent: set[str] = set()
    for row in rows:
        for request in requests_of(world, row, sent):
            with undone(), doors.asked_by(row.route):
                with TestCase.captureOnCommitCallbacks(execute=True):
                    request()
                work_off(queue, before)


def requests_of(world: World, row: Row, sent: set[str]) -> Iterator[Callable[[], Any]]:
    """Yield the row's requests, and the forms of its page that are not in `sent`.

    What the API has done for the insider, it is not asked to do again for an admin.
    """
    people = {row.door.insider, "root"} - {"nobody"}
    parts, done = parts_of(world, row), set[str]()
    for who in sorted(people, key="root".__eq__):
        client = world.client(who)
        pages: list[Any] = []
        for method in (one for one in row.methods.split() if EACH_OF_ALIKE or one not in done):
            answers: list[Any] = []
            yield partial(keep, answers, client, row, method, parts)
            if row.door.is_api and answers[0].status_code < 300:  # the caller has asked by now
                done.add(method)
            elif method == "GET":
                pages = answers
        if not row.door.is_api and pages:
            yield from forms_of(client, pages[0], sent)


def keep(answers: list[Any], client: Any, row: Row, method: str, parts: Any) -> None:
    """Send the request, and keep the answer."""
    answers.append(send(client, row, method, parts))


def forms_of(client: Any, page: Any, sent: set[str]) -> Iterator[Callable[[], Any]]:
    if page.status_code != 200 or page.streaming or "html" not in page["Content-Type"]:
        return
    for form in post_forms(page.content.decode(), page.wsgi_request.path):
        fields = {name: value for name, value in form.fields.lists() if name not in NEW_EACH_TIME}
        seen, before = f"{form.action} {fields}", len(sent)
        sent.add(seen)
        if len(sent) > before and not form.action.startswith(("/sign-out", "/admin/logout")):
            yield partial(post, client, form.action, form.fields)


NEW_EACH_TIME = {"csrfmiddlewaretoken", "key"}


def post(client: Any, address: str, fields: QueryDict) -> Any:
    return client.post(address, fields.urlencode(), "application/x-www-form-urlencoded")


def test_pages_and_calls_do_lead_there_once_it_is_confirmed(
    world: World, doors: Doors, queue: Queue
) -> None:
    confirm(world, "address")

    ask_all(world, [row for row in LEADING if row.route in LEADING_THERE], doors, queue)

    assert set(doors.seen) == LEADING_THERE


LEADING_THERE = {
    "integrations/<slug:slug>/check/",
    "integrations/<slug:slug>/sign-in/",
    "tools/connections/<slug:slug>/sign-in/",
    "api/v1/execute",
}
