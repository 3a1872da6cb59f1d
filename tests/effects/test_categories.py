"""Categories by server first and tool second, alone and as stored."""

import csv
import hashlib
from functools import cache
from pathlib import Path

import pytest

from catalog.effects.server_categories import ServerTexts, ToolTexts, categorize
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor
from catalog.formats.loader import load_path
from catalog.models import Capability
from catalog.registration.catalog_rebuild import assign_categories
from tests.catalog.builders import store, tool
from tests.effects.labelled import SHARED, definitions, digest
from tests.effects.sample import fresh_rows

CLUSTER = ServerTexts("helm", "Helm", "Manages releases on Kubernetes.")
RELEASES = [
    ToolTexts("list_charts", "Lists the charts of a repository."),
    ToolTexts("upgrade", "Upgrades a release."),
    ToolTexts("history", ""),
]


def test_the_server_decides_where_a_word_of_a_tool_misleads() -> None:
    assert categorize(CLUSTER, RELEASES) == ["cloud", "cloud", "cloud"]


def test_a_tool_without_words_has_its_neighbours_category() -> None:
    tools = [
        ToolTexts("query", "Runs a SQL query."),
        ToolTexts("list_tables", "Lists all tables."),
        ToolTexts("quux", ""),
    ]

    assert categorize(ServerTexts("thing", "Thing", ""), tools) == ["database"] * 3


def test_the_order_of_tools_changes_nothing() -> None:
    whole = categorize(CLUSTER, RELEASES)

    assert categorize(CLUSTER, RELEASES[::-1]) == whole[::-1]


def test_without_any_known_word_it_is_other() -> None:
    assert categorize(ServerTexts("quux", "Quux", ""), [ToolTexts("frob", "")]) == ["other"]


@pytest.mark.django_db
def test_a_new_neighbour_can_change_a_category() -> None:
    plain = {"category": "other", "category_inferred": True}
    store(tool("quux", "Quuxes.", integration="thing", **plain))
    before = Capability.objects.get(action="quux")
    more = [tool(f"sql_{n}", "Runs a SQL query.", integration="thing", **plain) for n in range(3)]
    store(*more)

    after = Capability.objects.get(action="quux")

    assert (before.category, after.category) == ("other", "database")
    assert (after.state, after.definition_hash) == ("approved", before.definition_hash)
    assert assign_categories([after.integration_id]) == 0


@pytest.mark.django_db
def test_a_declared_category_stays() -> None:
    store(tool("sql", "Runs a SQL query.", integration="thing", category="zoo"))

    assert Capability.objects.get().category == "zoo"


@pytest.mark.django_db
@pytest.mark.usefixtures("gate_as_usual")
def test_texts_changed_past_the_gate_are_not_vouched_for() -> None:
    plain = {"category": "other", "category_inferred": True}
    store(tool("quux", "Quuxes.", integration="thing", **plain))
    row = Capability.objects.get()
    Capability.objects.filter(pk=row.pk).update(description="Runs a SQL query in a database.")

    changed = assign_categories([row.integration_id])

    row.refresh_from_db()
    assert (changed, row.state) == (0, "quarantined")


@pytest.mark.long
@pytest.mark.skipif(
    not (SHARED / "eval").is_dir(), reason="needs the sample sources beside the repository"
)
def test_categories_are_called_right() -> None:
    """On 200 labelled tools: `settled` lists one or two categories that are right."""
    found, hits = definitions(), dict[bool, list[bool]]({True: [], False: []})
    for row in _rows():
        one = found[row["source"], row["id"]]
        assert digest(one) == row["digest"]
        server = f"{row['source']}/{one.integration}"
        is_tuned = hashlib.sha256(server.encode()).digest()[0] % 2 == 0
        hits[is_tuned].append(_called(one, row["source"]) in row["settled"].split("/"))

    assert sum(map(len, hits.values())) == 200
    assert sum(hits[True]) / len(hits[True]) >= 0.88
    assert sum(hits[False]) / len(hits[False]) >= 0.87


@pytest.mark.skipif(
    not (SHARED / "eval").is_dir(), reason="needs the sample sources beside the repository"
)
def test_categories_of_tools_labelled_afterwards_are_called_right() -> None:
    """On the second round of `fresh.tsv`: word lists were extended after the first."""
    rows = [row for row in fresh_rows() if row["round"] == "2"]

    right = [
        _called(definitions()[row["source"], row["id"]], row["source"])
        in row["category"].split("/")
        for row in rows
    ]

    assert sum(right) / len(right) >= 0.78


def _called(one: Descriptor, source: str) -> str:
    about, tools = _servers(source)[one.integration]
    return categorize(about, tools)[tools.index(ToolTexts(one.action, one.description))]


def _rows() -> list[dict[str, str]]:
    with (Path(__file__).parent / "categories.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


@cache
def _servers(source: str) -> dict[str, tuple[ServerTexts, list[ToolTexts]]]:
    """Return the words of each server of a source, and those of all its tools."""
    path = SHARED / "samples" / source
    loaded = load_path(path if path.is_dir() else SHARED / "eval" / source / "catalog.jsonl")
    about: dict[str, IntegrationDescriptor] = {one.slug: one for one in loaded.integrations}
    found: dict[str, tuple[ServerTexts, list[ToolTexts]]] = {}
    for one in loaded.capabilities:
        server = about[one.integration]
        texts = ServerTexts(server.slug, server.title, server.description)
        found.setdefault(one.integration, (texts, []))[1].append(
            ToolTexts(one.action, one.description)
        )
    return found
