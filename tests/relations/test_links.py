"""Stored edges of the graph, and when they are refreshed."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.formats.descriptors import EdgeDescriptor
from catalog.models import Capability, Edge, Preset, Trait
from catalog.registration.catalog_rebuild import rebuild_catalog
from catalog.relations.relations import PresetTooLarge, relate, set_members
from catalog.relations.stored_links import MOST_IN_A_PRESET
from tests.factories import CapabilityFactory
from tests.relations.brought import bring, edges, tool

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("said", ["tool:office__print", "office__print", "print"])
def test_required_tool_is_found_by_id_name_and_in_the_own_integration(said: str) -> None:
    bring(tool("write", required_tools=(said,)), tool("print"))

    assert edges() == {("write", "DEPENDS_ON", "print", 1.0, "metadata")}


def test_what_is_needed_may_come_later() -> None:
    bring(tool("write", required_tools=("shop__print",)))
    assert edges() == set()

    bring(tool("print", integration="shop"))

    assert edges() == {("write", "DEPENDS_ON", "print", 1.0, "metadata")}


def test_what_is_needed_may_come_again() -> None:
    bring(tool("write", required_tools=("shop__print",)), tool("print", integration="shop"))
    Capability.objects.get(action="print").delete()

    bring(tool("print", integration="shop"))

    assert len(edges()) == 1


def test_what_is_needed_no_longer_is_no_edge() -> None:
    bring(tool("write", required_tools=("print",)), tool("print"))

    bring(tool("write"))

    assert edges() == set()


def test_manifest_gives_a_weight_of_its_own() -> None:
    declared = (
        EdgeDescriptor("office__print", "COMPOSED_WITH", 0.8),
        EdgeDescriptor("office__print", "REPLACES", 0.4),
    )

    bring(tool("print"), tool("write", edges=declared))

    assert edges() == {
        ("print", "COMPOSED_WITH", "write", 0.8, "manifest"),
        ("write", "DECLARED", "print", 0.4, "manifest"),
    }


def test_one_pair_that_both_declare_is_one_edge_with_the_greater_weight() -> None:
    one = (EdgeDescriptor("office__print", "COMPOSED_WITH", 0.8),)
    other = (EdgeDescriptor("office__write", "COMPOSED_WITH", 0.3),)

    bring(tool("print", edges=other), tool("write", edges=one))

    assert edges() == {("print", "COMPOSED_WITH", "write", 0.8, "manifest")}


def test_nobody_needs_itself() -> None:
    bring(tool("print", required_tools=("print",)))

    assert edges() == set()


def test_preset_composes_each_two() -> None:
    some = [CapabilityFactory.create(action=action) for action in ("a", "b", "c")]
    preset = Preset.objects.create(name="Writing")

    set_members(by=None, preset=preset, capabilities=some)
    assert {edge[:3] for edge in edges()} == {
        ("a", "COMPOSED_WITH", "b"),
        ("a", "COMPOSED_WITH", "c"),
        ("b", "COMPOSED_WITH", "c"),
    }

    set_members(by=None, preset=preset, capabilities=some[:2])
    assert edges() == {("a", "COMPOSED_WITH", "b", 0.5, "preset")}


def test_preset_stays_small() -> None:
    some = CapabilityFactory.create_batch(MOST_IN_A_PRESET + 1)

    with pytest.raises(PresetTooLarge):
        set_members(by=None, preset=Preset.objects.create(name="All"), capabilities=some)


def test_import_leaves_the_edges_of_others_and_of_admins_alone() -> None:
    bring(tool("a", required_tools=("b",)), tool("b"), tool("c"))
    a, c = (Capability.objects.get(action=action) for action in "ac")
    relate(by=None, source=a, target=c, kind="COMPOSED_WITH", weight=0.7)
    before = set(Edge.objects.values_list("pk", flat=True))

    bring(tool("c", tags=("new", "newer")), tool("d", required_tools=("c",)))

    assert before < set(Edge.objects.values_list("pk", flat=True))


def test_one_entry_costs_the_same_in_any_catalogue() -> None:
    bring(tool("a", required_tools=("b",)), tool("b"))
    with CaptureQueriesContext(connection) as few:
        bring(tool("a", required_tools=("b",), tags=("x",)))
    bring(*(tool(f"other_{number}", required_tools=("b",)) for number in range(40)))
    untouched = set(Edge.objects.exclude(source__action="a").values_list("pk", flat=True))

    with CaptureQueriesContext(connection) as many:
        bring(tool("a", required_tools=("b",), tags=("y",)))

    assert len(many) == len(few)
    assert untouched <= set(Edge.objects.values_list("pk", flat=True))


def test_rebuild_brings_back_all_that_is_lost() -> None:
    bring(tool("a", required_tools=("b",), tags=("X", "y")), tool("b"))
    preset = Preset.objects.create(name="Both")
    set_members(by=None, preset=preset, capabilities=list(Capability.objects.all()))
    before = edges()
    Edge.objects.all().delete()
    Trait.objects.all().delete()

    rebuild_catalog(by=None)

    assert edges() == before
    assert set(Trait.objects.values_list("name", flat=True)) == {"tool:other", "#x", "#y"}
