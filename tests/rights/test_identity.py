"""Things of one name, by all ways and in either order, and names that imitate others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import KeyRefused, create_key
from acl.people._invitations import accept, invite
from acl.people.people import PeopleRefused, ServiceAccountRefused, create_service_account
from acl.people.spaces import SpaceRefused, create_space
from acl.visible_text.pieces import check_plain_name
from catalog.formats.descriptors import Defect, IntegrationDescriptor, Loaded
from catalog.models import Capability, Definition, Integration, Secret, ServerProposal
from catalog.registration.integration_identity import find_target, normalised_address
from catalog.registration.manifest_reload import reload_manifests
from catalog.registration.register import register
from marketplace.installs.confirmation import to_confirm
from marketplace.installs.integration_management import descriptor_of_listing, install_proposed
from marketplace.installs.requests import (
    AlreadyInstalledError,
    NameTakenError,
    cancel_install,
    start_install,
)
from marketplace.installs.worker import install
from marketplace.models import Installation, Listing
from marketplace.sources.refresh import import_loaded
from tests.catalog.builders import tool
from tests.examples import EACH_OF_ALIKE
from tests.factories import GroupFactory, ListingFactory, UserFactory, active_model

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Thing:
    """A source's declaration: an integration, with or without a tool."""

    source: str
    kind: Any
    endpoint: str = ""
    command: tuple[str, ...] = ()
    words: str = "Says something."

    def loaded(self, *, with_tool: bool) -> Loaded:
        transport: Any = "http" if self.endpoint else "stdio" if self.command else ""
        descriptor = IntegrationDescriptor(
            "github",
            self.kind,
            "GitHub",
            description=self.words,
            transport=transport,
            endpoint=self.endpoint,
            command=self.command,
        )
        tools = (tool("search", self.words, integration="github"),) if with_tool else ()
        return Loaded((descriptor,), tools)


SERVER = Thing("/srv/a", "mcp", endpoint="https://api.example/mcp")
THINGS = (
    SERVER,
    Thing("/srv/b", "extension", words="An extension."),
    Thing("/srv/c", "mcp", endpoint="https://evil.example/mcp"),
    Thing("/srv/d", "mcp", command=("npx", "-y", "github-mcp@1.0.0")),
    Thing("/srv/e", "mcp", words="A list of tools."),
    Thing("/srv/f", "mcp", words="Another list of tools."),
    Thing("/srv/g", "mcp", endpoint="https://api.example/mcp", words="The same by someone else."),
)


def store(thing: Thing, *, with_tool: bool) -> list[Defect]:
    return import_loaded(
        loaded=thing.loaded(with_tool=with_tool),
        by=None,
        source="import",
        came_from=thing.source,
    ).defects


def stored(*, with_tool: bool) -> list[Any]:
    """Return everything stored about the declarations."""
    if with_tool:
        rows: Any = Integration.objects.order_by("slug")
        known = Capability.objects.order_by("identifier").values_list("identifier", "description")
        return [*rows.values_list("slug", "kind", "endpoint", "command", "description"), *known]
    rows = Listing.objects.order_by("slug")
    return list(rows.values_list("slug", "kind", "endpoint", "command", "description"))


PAIRS = [
    pytest.param(first, second, with_tool, id=f"{first.source} {second.source} {with_tool}")
    for at, (first, second) in enumerate(product(THINGS, THINGS))
    for with_tool in (True, False)
    if EACH_OF_ALIKE or (at % 2 == 0) == with_tool  # in use or to be installed, by turns
]


@pytest.mark.parametrize(("first", "second", "with_tool"), PAIRS)
def test_the_first_stays_to_the_letter_and_both_are_named(
    first: Thing, second: Thing, with_tool: bool
) -> None:
    active_model()
    assert store(first, with_tool=with_tool) == []
    before = stored(with_tool=with_tool)

    defects = store(second, with_tool=with_tool)

    assert stored(with_tool=with_tool) == before
    if first == second:
        assert defects == []
    else:
        (defect,) = defects
        assert "github" in defect.reason
        assert first.source in defect.reason
        assert second.source in defect.reason


@pytest.mark.parametrize("with_tool", [True, False], ids=["in use", "to be installed"])
def test_the_same_source_may_change_what_it_declares(with_tool: bool) -> None:
    active_model()
    store(SERVER, with_tool=with_tool)
    newer = Thing(SERVER.source, "mcp", endpoint=SERVER.endpoint, words="Says more.")

    defects = store(newer, with_tool=with_tool)

    assert defects == []
    assert "Says more." in str(stored(with_tool=with_tool))


def test_two_of_one_name_in_one_file_are_told() -> None:
    one, other = SERVER.loaded(with_tool=False), THINGS[1].loaded(with_tool=False)
    both = Loaded((*one.integrations, *other.integrations))

    imported = import_loaded(loaded=both, by=None, source="import", came_from="/srv/x")

    assert Listing.objects.get().kind == "mcp"
    assert len(imported.defects) == 1


def test_an_id_of_another_integration_is_left_to_it() -> None:
    register(Loaded(*_gmail("gmail")), by=None, source="a")

    report = register(Loaded(*_gmail("other")), by=None, source="b")

    assert "taken" in report.defects[0].reason
    assert Capability.objects.get().integration.slug == "gmail"


def _gmail(slug: str) -> tuple[tuple[IntegrationDescriptor, ...], tuple[Any, ...]]:
    own = tool("send", integration=slug, identifier="tool:send", full_name="send")
    return (IntegrationDescriptor(slug, "mcp", slug),), (own,)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(order=st.lists(st.sampled_from(THINGS), min_size=2, max_size=6), with_tool=st.booleans())
def test_in_any_order_the_first_one_has_the_name_and_nothing_is_lost_silently(
    order: Sequence[Thing], with_tool: bool
) -> None:
    with transaction.atomic():
        active_model()
        for at, thing in enumerate(order):
            defects = store(thing, with_tool=with_tool)
            assert bool(defects) == (thing != order[0]), (at, defects)
        after = stored(with_tool=with_tool)
        assert (after[0][1], after[0][2]) == (order[0].kind, order[0].endpoint)
        assert order[0].words in str(after)
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://API.example/mcp/", "https://api.example:443/mcp"),
        ("HTTP://api.example:80", "http://api.example/"),
        ("https://api.example./a?b=1", "https://api.example/a?b=1"),
    ],
)
def test_an_address_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert normalised_address(one) == normalised_address(other)


@pytest.mark.parametrize(
    ("command", "target"),
    [
        (("npx", "-y", "@scope/pkg@1.0.0"), "npm:@scope/pkg"),
        (("npx", "-y", "@scope/pkg@2.0.0", "--flag"), "npm:@scope/pkg"),
        (("uvx", "My_Package==1.0"), "pypi:my-package"),
        (("docker", "run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/a/b:1.2"), "docker:ghcr.io/a/b"),
        (("/opt/server", "--x"), 'program:["/opt/server", "--x"]'),
        ((), ""),
    ],
)
def test_a_package_is_the_same_in_every_version(command: tuple[str, ...], target: str) -> None:
    assert find_target(IntegrationDescriptor("a", "mcp", "A", command=command)) == target


IMITATIONS = ["\u0430dmin", "ali\u0441e", "alice\u200b", "b\u202eob", "\uff41lice", "al\u0456ce"]
OWN_NAMES = [
    "alice",
    "Jürgen",
    "Ирина",
    "Νίκος",
    "山田太郎",
    "محمد",
    "Ana María",
    "o'neil",
    "x-1.2_3@y",
]
Door = Callable[[User, Group, str], object]


def _root() -> User:
    return User.objects.create_superuser("root")


def _by_invitation(root: User, group: Group, name: str) -> object:
    raw = invite(by=root, email="dora@example.com", groups=[group])[1]
    return accept(raw=raw, username=name, password="something long and new")


DOORS: dict[str, tuple[Door, type[Exception]]] = {
    "invitation": (_by_invitation, PeopleRefused),
    "service account": (
        lambda root, group, name: create_service_account(
            by=root, name=name, groups=[group], description=""
        ),
        ServiceAccountRefused,
    ),
    "key": (
        lambda root, group, name: create_key(by=root, name=name, scopes=["select"], group=group),
        KeyRefused,
    ),
    "space": (
        lambda root, group, name: create_space(by=root, group=group, parent=None, name=name),
        SpaceRefused,
    ),
}


@pytest.mark.parametrize("name", IMITATIONS)
def test_a_name_that_imitates_another_is_not_plain(name: str) -> None:
    with pytest.raises(ValidationError):
        check_plain_name(name)


@pytest.mark.parametrize("name", OWN_NAMES)
def test_names_of_any_one_alphabet_are_plain(name: str) -> None:
    check_plain_name(name)


@pytest.mark.parametrize("door", DOORS)
def test_imitation_is_refused_in_words(door: str) -> None:
    make, refusal = DOORS[door]
    root, group = _root(), Group.objects.create(name="support")

    with pytest.raises(refusal, match=r"Use letters of one alphabet"):
        make(root, group, IMITATIONS[0])


@pytest.mark.parametrize(
    ("address", "field", "others"),
    [
        (
            "/admin/auth/user/add/",
            "username",
            {"password1": "kY7-pq_x9Lm", "password2": "kY7-pq_x9Lm"},
        ),
        ("/admin/auth/group/add/", "name", {}),
    ],
)
def test_the_admin_refuses_it_beside_its_field(
    client: Client, address: str, field: str, others: dict[str, str]
) -> None:
    client.force_login(_root())

    answer = client.post(address, {field: IMITATIONS[0], **others})

    assert answer.status_code == 200
    assert "Use letters of one alphabet" in str(answer.context["errors"])


Origin = Definition.Origin
SLUG = "github"
MANIFEST = """
name: github
kind: tool
description: Searches the files of a folder.
"""


@pytest.fixture
def root(settings: Settings) -> User:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    active_model()
    person: User = UserFactory.create(username="root", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    return person


def described(way: str, **fields: Any) -> IntegrationDescriptor:
    """Describe a server of that name at an address of its own."""
    endpoint = f"https://{way}.example/mcp"
    values = {"kind": "mcp", "title": "GitHub", "transport": "http", "endpoint": endpoint}
    return IntegrationDescriptor(SLUG, **(values | fields))


def loaded(way: str) -> Loaded:
    return Loaded((described(way),), (tool(f"by_{way}", f"From {way}.", integration=SLUG),))


def registered(way: str, origin: Any) -> str:
    return " ".join(map(str, register(loaded(way), by=None, source=way, origin=origin).defects))


def imported(_: User, __: Path) -> str:
    report = import_loaded(loaded=loaded("import"), by=None, source="import", came_from="/srv/a")
    return " ".join(map(str, report.defects))


def from_starter(_: User, __: Path) -> str:
    return registered("starter", Origin.STARTER)


def at_runtime(_: User, __: Path) -> str:
    return registered("runtime", Origin.RUNTIME)


def from_manifest(_: User, folder: Path) -> str:
    (folder / SLUG).mkdir()
    (folder / SLUG / "CAPABILITY.yaml").write_text(MANIFEST)
    return " ".join(map(str, reload_manifests(by=None, folders=[folder]).defects))


def installed(by: User, descriptor: IntegrationDescriptor) -> str:
    shown = to_confirm(descriptor).digest if descriptor.command else ""
    try:
        begun = start_install(by=by, descriptor=descriptor, confirmed=shown)
    except AlreadyInstalledError as problem:
        return str(problem)
    Integration.objects.filter(pk=begun.integration_id).update(enabled=True, state="approved")
    Installation.objects.filter(pk=begun.pk).update(state="ready")
    return ""


def listed(kind: str, **fields: Any) -> IntegrationDescriptor:
    """Return the descriptor of a listing of that name."""
    Listing.objects.filter(slug=SLUG).delete()
    return descriptor_of_listing(ListingFactory.create(slug=SLUG, kind=kind, **fields))


def from_listing(by: User, _: Path) -> str:
    return installed(by, listed("mcp", transport="http", endpoint="https://listed.example/mcp"))


def as_package(by: User, _: Path) -> str:
    return installed(by, listed("mcp", transport="stdio", command=["uvx", "github-mcp==1.0.0"]))


def as_extension(by: User, _: Path) -> str:
    descriptor = listed("extension", transport="", description="Adds a panel.")
    try:
        begun = start_install(by=by, descriptor=descriptor)
    except AlreadyInstalledError as problem:
        return str(problem)
    install(begun.pk)
    return installed_for_good(begun)


def installed_for_good(begun: Installation) -> str:
    Integration.objects.filter(pk=begun.integration_id).update(enabled=True, state="approved")
    Installation.objects.filter(pk=begun.pk).update(state="ready")
    return ""


def proposed(by: User, _: Path) -> str:
    proposal = ServerProposal.objects.create(
        name=SLUG, endpoint="https://proposed.example/mcp", user=by, group=GroupFactory.create()
    )
    try:
        begun = install_proposed(by=by, proposal=proposal, for_group=False)
    except AlreadyInstalledError as problem:
        proposal.refresh_from_db()
        assert proposal.state == ServerProposal.State.OPEN
        return str(problem)
    return installed_for_good(begun)


WAYS: dict[str, Callable[[User, Path], str]] = {
    "import": imported,
    "starter": from_starter,
    "runtime": at_runtime,
    "manifest": from_manifest,
    "listing": from_listing,
    "package": as_package,
    "extension": as_extension,
    "proposal": proposed,
}


def test_every_origin_has_a_way() -> None:
    # A server's own definitions and an admin's edit change existing rows: neither brings a name.
    assert {*Origin.values} - {"server", "edit"} == {*WAYS} & {*Origin.values}


def stored_by_ways() -> list[Any]:
    rows = Integration.objects.values_list(
        "slug", "kind", "title", "transport", "endpoint", "command", "came_from", "unconfirmed"
    )
    return [*rows, *Capability.objects.order_by("pk").values_list("identifier", "description")]


@pytest.mark.parametrize(("first", "second"), list(permutations(WAYS, 2)))
def test_the_first_stays_and_the_second_is_told_of_both(
    root: User, tmp_path: Path, first: str, second: str
) -> None:
    assert WAYS[first](root, tmp_path) == ""
    before = stored_by_ways()
    assert len(before) >= 1

    told = WAYS[second](root, tmp_path)

    assert stored_by_ways() == before
    assert told.count(SLUG) >= 1
    assert "belongs to" in told


def test_what_failed_keeps_its_name_and_its_secrets_until_it_is_removed(root: User) -> None:
    secrets = {"TOKEN": "for the first alone"}
    begun = start_install(by=root, descriptor=described("first"), secrets=secrets)
    cancel_install(by=root, installation=begun)

    with pytest.raises(NameTakenError) as refused:
        start_install(by=root, descriptor=described("second"))

    assert "https://first.example/mcp" in str(refused.value)
    assert "https://second.example/mcp" in str(refused.value)
    assert Integration.objects.get().endpoint == "https://first.example/mcp"
    assert Secret.objects.get().integration.endpoint == "https://first.example/mcp"


def test_what_failed_can_be_installed_again(root: User) -> None:
    begun = start_install(by=root, descriptor=described("first"))
    cancel_install(by=root, installation=begun)

    again = start_install(by=root, descriptor=described("first"))

    assert again.integration_id == begun.integration_id
