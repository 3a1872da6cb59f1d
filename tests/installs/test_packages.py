"""Packages: separate places, pinned hashes, updates beside the running version, rollback.

The index is a folder, from which real pip fills real environments.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import parse_package
from catalog.models import Capability, Integration
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import StdioServer
from catalog.servers.connections import server_requests
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.params import build_server
from catalog.servers.connections.server_requests import call_tool, close_connection
from catalog.servers.secrets.store import forget_secret, set_secret
from marketplace.installs import package_step
from marketplace.installs.integration_management import (
    pending_update,
    repair,
    roll_back,
    start_update,
    uninstall,
)
from marketplace.installs.package_step import compile_package, fetch_package, is_in_place
from marketplace.installs.packages.client import client_environment
from marketplace.installs.packages.folders import Place
from marketplace.installs.packages.pypi import find_definers, find_required_pythons
from marketplace.installs.packages.suggested_bounds import name_cause, suggest_bounds
from marketplace.installs.progress_pages import build_progress
from marketplace.installs.requests import (
    NotPermittedError,
    approve_install,
    confirm_install,
    retry_install,
    start_install,
    to_confirm,
)
from marketplace.installs.worker import clean_up, install
from marketplace.models import Installation, Listing
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK, text_of
from tests.examples import EXAMPLES_OF_TEXTS
from tests.factories import GroupFactory, UserFactory
from tests.installs.installs import worked
from tests.installs.wheels import (
    add_library,
    add_server,
    add_wheel,
    remove_all_wheels,
    tool,
    use_folder_as_index,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]
State = Installation.State
HELLO, BYE = tool("hello", "Says hello."), tool("bye", "Says goodbye.")


@pytest.fixture(autouse=True)
def index(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder as pip's only index."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_DATA_DIR = tmp_path
    folder = tmp_path / "index"
    use_folder_as_index(monkeypatch, folder)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield folder


def tiny(whole: str = "tiny-server==1.0.0", **more: Any) -> IntegrationDescriptor:
    command = ("uvx", whole, "--polite")
    return IntegrationDescriptor("tiny", "mcp", "Tiny", transport="stdio", command=command, **more)


def begin(by: User, descriptor: IntegrationDescriptor) -> Installation:
    return start_install(by=by, descriptor=descriptor, confirmed=to_confirm(descriptor).digest)


def folders(settings: Settings) -> list[str]:
    servers = Path(settings.PEGBOARD_DATA_DIR) / "servers"
    return sorted(path.name for path in servers.iterdir()) if servers.exists() else []


def test_update_serves_when_it_is_approved_and_can_be_taken_back(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    add_server(index, "2.0.0", {**HELLO, "description": "Says hello, loudly."}, BYE)
    group = GroupFactory.create()
    bob = UserFactory.create(username="bob", groups=[group])
    names = Capability.objects.usable_by(Caller(bob.pk, group.pk)).values_list(
        "full_name", flat=True
    )
    first = tiny(version="1.0.0", source_ref={"listing": "tiny"})
    installation = start_install(
        by=alice, descriptor=first, confirmed=to_confirm(first).digest, groups=[group]
    )
    worked(installation)
    served = Integration.objects.get(slug="tiny")
    old = installation.place

    assert installation.state == State.READY, installation.message
    assert served.package["launch"][0] == str(Place(old).folder / "bin" / "python")
    assert {name for name, _, _ in served.package["artefacts"]} == {"tiny-server", "tiny-sdk"}
    assert all(digest.startswith("sha256:") for _, _, digest in served.package["artefacts"])
    assert text_of(call_tool(served, "hello", {})) == '["--polite"]'
    assert pending_update(served) is None

    Listing.objects.create(
        slug="tiny", key="tiny", kind="mcp", title="Tiny", version="2.0.0", transport="stdio",
        command=["uvx", "tiny-server==2.0.0", "--polite"],
    )  # fmt: skip
    offered = pending_update(served)
    assert offered is not None
    with pytest.raises(NotPermittedError):
        start_update(by=alice, integration=served, confirmed="")
    update = start_update(by=alice, integration=served, confirmed=offered.digest)
    worked(update)

    assert (update.state, list(names.all())) == (State.NEEDS_APPROVAL, ["tiny__hello"])
    assert [(one["name"], one["what"], one["fields"]) for one in update.changes] == [
        ("bye", "added", []), ("hello", "changed", ["description"]),
    ]  # fmt: skip
    served.refresh_from_db()
    assert (served.version, served.package["place"]) == ("1.0.0", old)

    approve_install(by=alice, installation=update)
    worked(update)
    clean_up()
    served.refresh_from_db()

    assert (update.state, served.version) == (State.READY, "2.0.0"), update.message
    assert sorted(names.all()) == ["tiny__bye", "tiny__hello"]
    assert {old, update.place} <= set(folders(settings))

    (
        index / "tiny_server-1.0.0-py3-none-any.whl"
    ).unlink()  # installed packages are not requested again
    back = worked(roll_back(by=alice, integration=served))
    served.refresh_from_db()

    assert (back.state, served.version) == (State.READY, "1.0.0"), back.message
    assert list(names.all()) == ["tiny__hello"]
    assert served.package["place"] == old

    uninstall(by=alice, integration=served)
    clean_up()
    assert folders(settings) == []
    assert server_requests.close_all_but(()) == []  # no pool is left to close


def test_crash_offers_a_bound_with_which_it_works(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_library(index, "2.0")
    add_server(index, "1.0.0", HELLO)
    installation = worked(begin(alice, tiny()))
    crashed = (installation.state, installation.reason, installation.offered)
    left = folders(settings)

    retry_install(by=alice, installation=installation, constraints=installation.offered)
    worked(installation)

    assert crashed == (State.FAILED, "crashed", ["tiny-sdk<2"])
    assert left == []
    assert installation.state == State.READY, installation.message
    versions = {name: version for name, version, _ in installation.package["artefacts"]}
    assert versions == {"tiny-server": "1.0.0", "tiny-sdk": "1.0"}


def test_missing_secret_is_named_before_anything_is_fetched(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    installation = worked(begin(alice, tiny(required_secrets=("TINY_TOKEN",))))
    stopped = (installation.state, installation.reason, folders(settings))
    states = list(installation.events.values_list("state", flat=True))
    told = build_progress(installation)

    set_secret(integration=installation.integration, name="TINY_TOKEN", value="x", by=alice)
    retried = retry_install(by=alice, installation=installation)
    worked(installation)

    assert stopped == (State.NEEDS_SECRET, "needs_secret", [])
    assert states == ["needs_secret"]
    assert (told.now, told.has_ended) == ("Needs a secret", True)
    assert "TINY_TOKEN" in told.installation.events.all()[0].message
    assert retried
    assert installation.state == State.READY, installation.message


def test_secret_that_is_gone_again_costs_no_second_fetch(
    alice: User, index: Path, settings: Settings
) -> None:
    """A worker died after it had fetched the package, and the secret was deleted meanwhile."""
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    installation = begin(alice, tiny(required_secrets=("TINY_TOKEN",)))
    integration = installation.integration
    set_secret(integration=integration, name="TINY_TOKEN", value="x", by=alice)
    fetch_package(installation)
    place = installation.place
    forget_secret(integration=integration, name="TINY_TOKEN", by=alice)
    worked(installation)
    stopped = installation.state
    remove_all_wheels(index)
    clean_up()

    set_secret(integration=integration, name="TINY_TOKEN", value="x", by=alice)
    retry_install(by=alice, installation=installation)
    worked(installation)

    assert stopped == State.NEEDS_SECRET
    assert installation.state == State.READY, installation.message
    assert installation.place == place
    assert folders(settings) == [place]


def test_crash_of_unknown_cause_offers_nothing_and_is_not_fetched_twice(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "2.0")
    add_server(index, "1.0.0", HELLO, needs="tiny-sdk>=2.0")
    installation = worked(begin(alice, tiny()))
    crashed = (installation.state, installation.reason, installation.offered)
    left = folders(settings)
    remove_all_wheels(index)
    clean_up()

    retry_install(by=alice, installation=installation)
    worked(installation)
    fetched = installation.events.filter(message="The package is already installed.")
    Installation.objects.update(updated_at=timezone.now() - timedelta(days=2))
    clean_up()

    assert crashed == (State.FAILED, "crashed", [])
    assert "The cause is unknown" in installation.message
    assert "has no attribute" in installation.message
    assert left == [installation.place]
    assert (installation.reason, fetched.count()) == ("crashed", 1)
    assert folders(settings) == []


def test_other_files_than_before_are_refused(alice: User, index: Path, settings: Settings) -> None:
    """CMD-5: a version published again, and a place that was modified."""
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    installation = worked(begin(alice, tiny()))
    integration = Integration.objects.get()
    code = next(Place(installation.place).folder.glob("lib/*/site-packages/tiny_server.py"))
    was_in_place = is_in_place(installation)
    code.write_text(code.read_text() + "# one more line\n")
    with pytest.raises(ServerProblemError) as changed:
        call_tool(integration, "hello", {})

    mended = worked(repair(by=alice, integration=integration))
    integration.refresh_from_db()
    after = text_of(call_tool(integration, "hello", {}))

    add_server(index, "1.0.0", {**HELLO, "description": "Sends a copy to me."})
    again = worked(repair(by=alice, integration=integration))

    assert was_in_place
    assert (mended.state, after) == (State.READY, '["--polite"]'), mended.message
    assert changed.value.reason == Reason.FILES_CHANGED
    assert (again.state, again.reason, again.place) == (State.FAILED, "package_changed", "")
    assert text_of(call_tool(integration, "hello", {})) == after  # the running version goes on


def test_compiled_modules_are_used_once_the_row_names_them_and_only_unchanged(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    installation = worked(begin(alice, tiny()))
    integration = Integration.objects.get()

    compile_package(installation.pk)
    integration.refresh_from_db()
    compile_package(installation.pk)  # nothing is left to do
    compiled = Place(installation.place).compiled
    launched = build_server(integration)
    assert isinstance(launched, StdioServer)
    answered = text_of(call_tool(integration, "hello", {}))
    close_connection(integration)
    next(compiled.rglob("tiny_server*.pyc")).write_bytes(b"other code")
    with pytest.raises(ServerProblemError) as changed:
        call_tool(integration, "hello", {})

    assert (launched.command[1:3], answered) == (
        ("-X", f"pycache_prefix={compiled}"),
        '["--polite"]',
    )
    assert not list(Place(installation.place).folder.glob("lib/**/*.pyc"))
    assert changed.value.reason == Reason.FILES_CHANGED
    assert worked(repair(by=alice, integration=integration)).state == State.READY


def test_without_a_version_it_is_looked_up_and_then_confirmed(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    add_server(index, "1.1.0", HELLO)
    with pytest.raises(NotPermittedError):
        begin(UserFactory.create(is_staff=True), tiny("tiny-server"))
    installation = begin(alice, tiny("tiny-server"))
    early = confirm_install(by=alice, installation=installation, confirmed="")
    worked(installation)
    shown = (installation.state, installation.command, folders(settings))
    with pytest.raises(NotPermittedError):
        confirm_install(by=alice, installation=installation, confirmed="0" * 64)

    confirmed = confirm_install(
        by=alice, installation=installation, confirmed=installation.command_digest
    )
    worked(installation)

    assert not early
    assert shown == (State.CONFIGURE, ("uvx", "tiny-server==1.1.0", "--polite"), [])
    assert confirmed
    assert installation.state == State.READY, installation.message


def test_packages_that_the_command_adds_are_installed_within_their_bounds(
    alice: User, index: Path
) -> None:
    add_library(index, "1.0")
    add_library(index, "2.0")
    add_server(index, "1.0.0", HELLO)
    command = ("uvx", "--with", "tiny-sdk<2", "tiny-server==1.0.0")
    descriptor = replace(tiny(), command=command)

    installation = worked(begin(alice, descriptor))

    assert installation.state == State.READY, installation.message
    assert installation.command == command


def test_what_cannot_be_fetched_is_told_and_leaves_nothing(
    alice: User, index: Path, settings: Settings
) -> None:
    add_server(index, "1.0.0", HELLO, needs="tiny-sdk>=7")
    needy = worked(begin(alice, tiny()))
    needs = (needy.reason, folders(settings))
    add_library(index, "7.0")
    settings.PEGBOARD_PACKAGE_MEGABYTES = 0
    retry_install(by=alice, installation=needy)
    worked(needy)
    large = (needy.reason, folders(settings))
    settings.PEGBOARD_DATA_DIR = (
        index / "tiny_server-1.0.0-py3-none-any.whl"
    )  # a file where a folder is needed
    retry_install(by=alice, installation=needy)
    worked(needy)

    assert needs == ("package_not_found", [])
    assert large == ("package_too_large", [])
    assert needy.reason == "no_room"
    assert "has no ready-made file" in needy.events.filter(state=State.FAILED)[0].message


def test_who_finds_no_room_waits_and_loses_no_attempt(
    alice: User, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    room = BoundedSemaphore(1)
    monkeypatch.setattr(package_step, "_SLOTS", room)
    pk = begin(alice, tiny()).pk

    with room:
        waits = install(pk)
    without = Installation.objects.get()
    install(pk)

    assert waits
    assert (without.state, without.attempts, without.place) == (State.QUEUED, 0, "")
    told = Installation.objects.get()
    assert told.state == State.EMBEDDING, told.message


def test_package_clients_get_the_index_and_nothing_else() -> None:
    """CMD-3 for package clients: of the worker's environment they get only the index."""
    environment = client_environment(
        Place("x"),
        {
            "DATABASE_URL": "postgres://canary", "PEGBOARD_SECRET_KEY": "canary", "HOME": "/canary",
            "PIP_INDEX_URL": "https://index.example/simple", "npm_config_registry": "https://npm.example",
            "PIP_TARGET": "/canary", "PYTHONPATH": "/canary", "NODE_OPTIONS": "--canary",
            "PATH": "/canary", "https_proxy": "http://proxy.example",
        },
        program="/opt/node/bin/node",
    )  # fmt: skip

    assert environment["PIP_INDEX_URL"] == "https://index.example/simple"
    assert environment["npm_config_registry"] == "https://npm.example"
    assert environment["https_proxy"] == "http://proxy.example"
    assert environment["PATH"].startswith("/opt/node/bin:")
    assert "canary" not in str(environment)


NO_MODULE = "Traceback …\nModuleNotFoundError: No module named 'mcp.server.fastmcp'"
NO_NAME = "Traceback …\nImportError: cannot import name 'Server' from 'mcp' (/x/mcp/__init__.py)"
NO_ATTRIBUTE = "Traceback …\nAttributeError: module 'mcp' has no attribute 'Server'\n"
BAD_FLAG = "usage: server [-h]\nserver: error: unrecognized arguments: --polite"
OTHER = 'File "/x/pydantic/main.py", line 7, in build\npydantic.errors.PydanticUserError: mcp'
NO_METHOD = (
    'File "/p/site-packages/{}/server.py", line 9, in main\n    @server.list_resources()\n'
    "AttributeError: 'Server' object has no attribute 'list_resources'"
)
IN_OWN_CODE, IN_A_LIBRARY = NO_METHOD.format("own_code"), NO_METHOD.format("my_lib")
MODULES = {
    "own_code": ["own"],
    "mcp": ["mcp"],
    "my_lib": ["My-Lib"],
    "google": ["google-a", "google-b"],
}


@pytest.mark.parametrize(
    ("needs", "versions", "said", "offered"),
    [
        (["mcp[cli]>=1.6.0"], {"mcp": "2.3.0"}, NO_MODULE, ["mcp<2"]),
        (["mcp>=1.6", "other>=1"], {"mcp": "2.3", "other": "2"}, NO_NAME, ["mcp<2"]),
        (["other>=1", "mcp>=1.6"], {"mcp": "2.3", "other": "2"}, NO_ATTRIBUTE, ["mcp<2"]),
        (["mcp>=1; python_version < '4'"], {"mcp": "2"}, NO_MODULE, ["mcp<2"]),
        (["My.Lib>=1"], {"My-Lib": "3.1"}, NO_MODULE.replace("mcp", "my_lib"), ["my-lib<2"]),
        (["mcp>=1.6"], {"mcp": "2.3", "own": "1"}, IN_OWN_CODE, ["mcp<2"]),
        # The cause lies elsewhere, or cannot be known.
        (["mcp>=1", "other>=1"], {"mcp": "2", "other": "2"}, IN_OWN_CODE, []),
        (["mcp>=1.6"], {"mcp": "2.3", "My-Lib": "1"}, IN_A_LIBRARY, []),
        (["mcp>=1.6"], {"mcp": "2.3"}, BAD_FLAG, []),
        (["mcp>=1.6"], {"mcp": "2.3"}, OTHER, []),
        (["mcp>=1.6"], {"mcp": "2.3"}, "", []),
        (["mcp>=1.6"], {"mcp": "2.3"}, NO_MODULE.replace("mcp", "pkg_resources"), []),
        (["google-a>=1"], {"google-a": "2"}, NO_MODULE.replace("mcp", "google"), []),
        # Another library requires it, or nothing says which version.
        (["other>=1"], {"mcp": "2.3", "other": "2"}, NO_MODULE, ["mcp<2"]),
        (["mcp>=1; extra == 'all'"], {"mcp": "2"}, NO_MODULE, ["mcp<2"]),
        (["mcp"], {"mcp": "2.3"}, NO_MODULE, ["mcp<2"]),
        (["mcp[cli]"], {"mcp": "3.0"}, NO_NAME, ["mcp<3"]),
        (["mcp"], {"mcp": "1.9"}, NO_MODULE, []),
        (["mcp"], {"mcp": "2026.1"}, NO_MODULE, []),
        (["other>=1"], {"own": "2.3"}, NO_MODULE.replace("mcp", "own_code"), []),
        # It is no later one than the package names.
        (["mcp>=2"], {"mcp": "2.3"}, NO_MODULE, []),
        (["mcp<3,>=1.6"], {"mcp": "2.3"}, NO_MODULE, []),
        (["mcp~=1.0"], {"mcp": "2.3"}, NO_MODULE, []),
        (["not a requirement at all!", "mcp"], {}, NO_MODULE, []),
    ],
)
def test_bound_is_offered_where_the_traceback_ends_at_a_later_library_than_required(
    needs: list[str], versions: dict[str, str], said: str, offered: list[str]
) -> None:
    assert suggest_bounds(needs, versions, MODULES, said, package="own") == offered


@pytest.mark.parametrize(
    ("definers", "offered"), [({"MCP"}, ["mcp<2"]), ({"mcp", "other"}, []), (set(), [])]
)
def test_of_several_later_libraries_the_one_with_the_failing_class_is_meant(
    definers: set[str], offered: list[str]
) -> None:
    asked = []

    def find(name: str) -> set[str]:
        asked.append(name)
        return definers

    found = suggest_bounds(
        ["mcp>=1", "other>=1"], {"mcp": "2", "other": "2"}, MODULES, IN_OWN_CODE,
        package="own", definers=find,
    )  # fmt: skip

    assert (found, asked) == (offered, ["Server"])


NAMED = st.from_regex(r"[A-Z]{3,8}_[A-Z]{3,8}", fullmatch=True)


@examples(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=NAMED,
    words=st.sampled_from(
        (
            "{} environment variable is not set",
            "Error: Cannot run MCP server without {} env",
            "{}\n  Field required [type=missing, input_value={{}}, input_type=dict]",
            "configPath is required when {} is undefined",
            "  raise ValueError('{} must be set')\nValueError: {} must be set",
        )
    ),
)
def test_variable_that_a_program_misses_is_named(name: str, words: str) -> None:
    cause = name_cause(f"Traceback\n{words.replace('{}', name)}\nexit code 1")

    assert cause == f"It misses {name}. Add it again with NAME=value before its command."


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("Usage: it [OPTIONS] COMMAND\n  serve\nexit code 2", "usage"),
        ("[2] Usage: it <https://server-url>\nexit code 1", "usage"),
        ("Error: Could not locate the bindings file. Tried:\n", "compiled part"),
        ("Error: spawn git ENOENT", "needs git"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'sudo'", "needs sudo"),
        ("/bin/sh: 1: kubectl: not found", "needs kubectl"),
        ("ValueError: x\nexit code 1", ""),
        ("", ""),
    ],
)
def test_cause_of_a_crash_is_what_its_last_words_say(output: str, cause: str) -> None:
    named = name_cause(output)

    assert cause in named
    assert bool(cause) == bool(named)


def test_second_library_that_is_too_new_is_bounded_beside_the_first(
    alice: User, index: Path
) -> None:
    for library in ("tiny-sdk", "tiny-web"):
        module = library.replace("-", "_")
        for version in ("1.0", "2.0"):
            code = "" if version == "2.0" else "class Server:\n    pass\n"
            add_wheel(index, library, version, {f"{module}.py": code})
    files = {"tiny_server.py": "from tiny_sdk import Server\nfrom tiny_web import Server\n"}
    needs, program = ["tiny-sdk>=1.0", "tiny-web>=1.0"], "tiny-server = tiny_server:main"
    add_wheel(index, "tiny-server", "1.0.0", files, needs=needs, program=program)
    installation = worked(begin(alice, tiny()))
    first = installation.offered

    retry_install(by=alice, installation=installation, constraints=first)
    worked(installation)

    assert first == ["tiny-sdk<2"]
    assert installation.offered == ["tiny-sdk<2", "tiny-web<2"]


def test_classes_are_found_in_the_files_of_an_installed_package(
    alice: User, index: Path, settings: Settings
) -> None:
    add_library(index, "1.0")
    add_server(index, "1.0.0", HELLO)
    place = Place(worked(begin(alice, tiny())).place)
    [module] = place.folder.glob("lib/*/site-packages/tiny_sdk.py")
    module.write_text("class Server:\n    pass\n")

    assert find_definers(place, "Server") == {"tiny-sdk"}
    assert find_definers(place, "Serve") == set()


@pytest.mark.parametrize(
    ("said", "pythons"),
    [
        (
            "error: No solution found when resolving dependencies\n"
            "  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.13\n"
            "         and a_server==1.2.2 depends on Python>=3.13, it is unusable.",
            {"a-server": ">=3.13"},
        ),
        (
            "  cause: Because the current Python (3.11.7) does not satisfy Python>=3.12 and\n"
            "         all versions of a-server depend on Python>=3.12, we can conclude",
            {"a-server": ">=3.12"},
        ),
        (
            "  cause: Because a.server>=1,<2 require Python >=3.13,<4 and you",
            {"a-server": ">=3.13,<4"},
        ),
        ("Because all versions of x depend on lib==2.0 and all versions of y", {}),
    ],
    ids=["earlier", "all versions", "range", "conflict"],
)
def test_pythons_are_read_as_any_release_of_uv_says_them(
    said: str, pythons: dict[str, str]
) -> None:
    assert find_required_pythons(said) == pythons


# What an index offers: each package with the Python it wants, and what it needs.
ELSEWHERE = ">=3.99"
WORLDS: dict[str, tuple[dict[str, tuple[str, list[str]]], str]] = {
    "itself": ({"tiny-server==1.0.0": (ELSEWHERE, [])}, "It requires Python >=3.99."),
    "what it needs": (
        {"tiny-server==1.0.0": ("", ["dep>=7"]), "dep==7.0": (ELSEWHERE, [])},
        "It needs dep, which requires Python >=3.99.",
    ),
    "each version of it": (
        {
            "tiny-server==1.0.0": ("", ["dep>=7"]),
            "dep==7.0": (ELSEWHERE, []),
            "dep==8.0": (ELSEWHERE, []),
        },
        "It needs dep, which requires Python >=3.99.",
    ),
    "far below": (
        {
            "tiny-server==1.0.0": ("", ["middle"]),
            "middle==1.0": ("", ["dep==7.0"]),
            "dep==7.0": (ELSEWHERE, []),
        },
        "It needs dep, which requires Python >=3.99.",
    ),
    "a real conflict": (
        {
            "tiny-server==1.0.0": ("", ["x", "y"]),
            "x==1.0": ("", ["lib==1.0"]),
            "y==1.0": ("", ["lib==2.0"]),
            "lib==1.0": ("", []),
            "lib==2.0": ("", []),
        },
        "Its dependencies conflict with each other.",
    ),
}


@pytest.mark.parametrize("case", WORLDS)
def test_package_for_a_newer_python_is_told_so_wherever_the_want_is(
    alice: User, index: Path, case: str
) -> None:
    """Offer such an index to real uv, and read what a person is told."""
    offers, words = WORLDS[case]
    for name, (python, needs) in offers.items():
        title, _, version = name.partition("==")
        add_wheel(
            index, title, version, {f"{title.replace('-', '_')}.py": ""}, needs=needs, python=python
        )

    failed = worked(begin(alice, tiny()))

    assert failed.state == State.FAILED
    assert failed.events.filter(state=State.FAILED)[0].message.startswith(words)


@pytest.mark.parametrize(
    "command",
    [
        "uvx mcp-server-time==2026.1.2 --zone UTC", "uvx --from a[all]==1.0 b -c x",
        "uvx --python 3.12 a==1", "uvx --with mcp>=1,<2 --with b[c]==1 a==1",
        "npx -y @scope/server@1.2.3 stdio",
        "npx -y --package @a/b@1.0.0-rc.1 b", "uvx no-version", "npx -y no-version",
    ],
)  # fmt: skip
def test_package_is_the_command_that_names_it(command: str) -> None:
    package = parse_package(command.split())

    assert package is not None
    assert package.command() == tuple(command.split())
    assert parse_package(["python3", "x.py"]) is None
