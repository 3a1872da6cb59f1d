"""A survey of a package, through the API of a Pegboard in this process. The index is a folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from catalog.embedding.jobs import embed_pending
from catalog.models import Integration
from catalog.servers.connections._session_pool import ConnectionPool
from discovery.models import Call
from lab.atlas.packages import AtlasPackage
from lab.atlas.product import Product, Refused
from lab.atlas.results import entry_of, read_results, write_results
from lab.atlas.survey import GROUP, survey
from marketplace.installs.worker import install
from marketplace.models import Installation
from tests.calls.worker import run_call
from tests.catalog.conftest import embedder as embedder
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK
from tests.factories import GroupFactory, UserFactory
from tests.installs.wheels import add_library, add_server, tool
from tests.sessions import session_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]


class ProductHere(Product):
    """The API in this process, which also does the workers' part."""

    def __init__(self, client: Client, data: Path) -> None:
        self.data, self._here = data, client

    def get(self, path: str, **query: Any) -> Any:
        return self._answer(self._here.get(f"/api/v1{path}", query))

    def post(self, path: str, body: Any = None) -> Any:
        answer = self._answer(
            self._here.post(f"/api/v1{path}", json.dumps(body), content_type="application/json")
        )
        for _ in range(2):
            for pk in Installation.objects.values_list("pk", flat=True):
                install(pk)
            embed_pending()
        for call in Call.objects.filter(state=Call.State.QUEUED):
            run_call(call.pk)
        return answer

    def delete(self, path: str) -> None:
        self._answer(self._here.delete(f"/api/v1{path}"))

    def _answer(self, response: Any) -> Any:
        if response.status_code >= 400:
            raise Refused(f"{response.status_code}: {response.content.decode()}")
        return response.json() if response.content else None


@pytest.fixture
def product(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ProductHere]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_DATA_DIR = tmp_path
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr("lab.atlas.survey.COUNTED_WITHIN", 0)
    alice: User = UserFactory.create(username="alice", is_staff=True, is_superuser=True)
    alice.groups.add(GroupFactory.create(name=GROUP))
    client = session_of(alice)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield ProductHere(client, tmp_path)


def tiny(version: str = "1.0.0", **more: Any) -> AtlasPackage:
    command = ("uvx", f"tiny-server=={version}")
    return AtlasPackage("tiny", "pypi", "tiny-server", version, command, **more)


def test_a_package_is_installed_with_the_bounds_it_needs_called_and_removed(
    product: ProductHere, tmp_path: Path
) -> None:
    for version in ("1.0", "2.0"):
        add_library(tmp_path / "index", version)
    add_server(tmp_path / "index", "1.0.0", tool("hello", "Says hello."))

    finding = survey(product, tiny())

    assert (finding.state, finding.reason) == ("ready", "")
    assert (finding.bounds, finding.tools, finding.called) == (
        ["tiny-sdk<2"], {"hello": "read"}, "hello",
    )  # fmt: skip
    assert finding.digest.startswith("sha256:")
    assert (finding.packages, finding.hosts) == (2, [])
    assert Call.objects.count() == 1
    assert not Integration.objects.exists()


def test_with_made_up_secrets_nothing_is_called(product: ProductHere, tmp_path: Path) -> None:
    add_library(tmp_path / "index", "1.0")
    add_server(tmp_path / "index", "1.0.0", tool("hello", "Says hello."))

    finding = survey(product, tiny(variables=("TINY_TOKEN",), needs="account"))

    assert (finding.state, finding.tools, finding.called) == ("needs_secret", {"hello": "read"}, "")
    assert not Call.objects.exists()


def test_a_failure_is_stored_with_its_reason_and_without_its_words(
    product: ProductHere, tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    package = tiny("9.0")

    finding = survey(product, package)
    write_results({"tiny": entry_of(package, finding, tested_on="2026-11-26")}, tmp_path / "a.json")

    assert "no such version" in finding.told
    stored = read_results(tmp_path / "a.json")["tiny"]
    assert (stored["state"], stored["reason"]) == ("fails", "package_not_found")
    assert (stored["package"], stored["version"]) == ("pypi:tiny-server", "9.0")
    assert "told" not in stored
