"""Two things of one name, by all ways into the catalogue, in either order.

The first one stays as it was, and whoever brings the second is told of both.
"""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission, User
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.models import Capability, Definition, Integration, Secret, ServerProposal
from catalog.registration.manifest_reload import reload_manifests
from catalog.registration.register import register
from marketplace.installs._proposals import install_proposed
from marketplace.installs.command_confirmation import to_confirm
from marketplace.installs.integration_management import descriptor_of_listing
from marketplace.installs.requests import (
    AlreadyInstalledError,
    NameTakenError,
    cancel_install,
    start_install,
)
from marketplace.installs.worker import install
from marketplace.models import Installation, Listing
from marketplace.sources.catalog_import import import_loaded
from tests.catalog.builders import tool
from tests.factories import GroupFactory, ListingFactory, UserFactory, active_model

pytestmark = pytest.mark.django_db
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


def stored() -> list[Any]:
    rows = Integration.objects.values_list(
        "slug", "kind", "title", "transport", "endpoint", "command", "came_from", "unconfirmed"
    )
    return [*rows, *Capability.objects.order_by("pk").values_list("identifier", "description")]


@pytest.mark.parametrize(("first", "second"), list(permutations(WAYS, 2)))
def test_the_first_stays_and_the_second_is_told_of_both(
    root: User, tmp_path: Path, first: str, second: str
) -> None:
    assert WAYS[first](root, tmp_path) == ""
    before = stored()
    assert len(before) >= 1

    told = WAYS[second](root, tmp_path)

    assert stored() == before
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
