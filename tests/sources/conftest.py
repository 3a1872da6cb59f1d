"""Fixtures: sources read for real, from folders and from a server on this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from marketplace.models import Source
from marketplace.sources.refresh import refresh_source
from tests.sources.places import SAMPLES, Place, place


@pytest.fixture(scope="module")
def _server() -> Iterator[Place]:
    with place() as played:
        yield played


@pytest.fixture
def server(_server: Place, settings: Settings) -> Place:
    """The server, which an admin has allowed, without content yet."""
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", _server.port),)
    for kept in (_server.documents, _server.registries, _server.redirects, _server.endless):
        kept.clear()
    _server.hits.clear()
    _server.statuses.clear()
    return _server


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    """A folder opened by the operator; the samples are open, too."""
    settings.PEGBOARD_SOURCE_DIRS = (str(tmp_path / "open"), str(SAMPLES))
    (tmp_path / "open").mkdir()
    return tmp_path / "open"


Read = Callable[..., Source]


@pytest.fixture
def read() -> Read:
    """Read a source as a worker would; again if it exists."""

    def read(kind: str, location: str | Path) -> Source:
        source, _ = Source.objects.get_or_create(
            kind=kind, location=str(location), defaults={"slug": f"s{Source.objects.count()}"}
        )
        Source.objects.filter(pk=source.pk).update(state=Source.State.QUEUED)
        refresh_source(source.pk)
        source.refresh_from_db()
        return source

    return read
