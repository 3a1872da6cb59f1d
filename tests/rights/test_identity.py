"""A later import never replaces another thing of the same name, in either order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.formats.descriptors import Defect, IntegrationDescriptor, Loaded
from catalog.models import Capability, Integration
from catalog.registration.integration_identity import find_target, normalised_address
from catalog.registration.register import register
from marketplace.models import Listing
from marketplace.sources.catalog_import import import_loaded
from tests.catalog.builders import tool
from tests.examples import EACH_OF_ALIKE
from tests.factories import active_model

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
