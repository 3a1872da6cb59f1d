"""Relation kinds and lookups of arguments, and neighbours against the oracle in random worlds."""

from importlib import import_module
from itertools import combinations
from random import Random

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.access.rules import add_rule
from catalog.formats.descriptors import Descriptor
from catalog.models import Capability, Edge, Rule
from catalog.models.integration import ReviewState
from catalog.models.relation import RELATION_KINDS, Kind, weight_of_shared
from catalog.relations.argument_lookups import (
    MOST_TOOLS,
    MOST_WEIGHT,
    NamedTool,
    find_lookups,
    refresh_lookups,
)
from catalog.relations.neighbours import count_edges, load_neighbours
from catalog.relations.relations import refresh_relations, relate
from discovery.select.ranking.relation_gains import RankedRelation, pull_in
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import invite
from tests.access.random_worlds import CAPABILITIES, callers_of, random_world
from tests.access.worlds import store
from tests.examples import EXAMPLES
from tests.factories import CapabilityFactory
from tests.oracle import World
from tests.relations.brought import bring, edges, tool

# By both ends, sorted by id unless the kind has a direction.
Edges = set[tuple[int, int, str]]
DIRECTED = ("DEPENDS_ON", "DECLARED")


def draw(random: Random) -> tuple[dict[int, set[str]], dict[int, str], Edges]:
    """Draw tags, categories and stored edges of each capability."""
    tags = {pk: set(random.sample("abcdefg", random.randrange(5))) for pk in CAPABILITIES}
    categories = {pk: random.choice(["one", "two", "three"]) for pk in CAPABILITIES}
    edges: Edges = set()
    for _ in range(random.randrange(15)):
        one, other = random.sample(list(CAPABILITIES), 2)
        kind = random.choice(["DEPENDS_ON", "DECLARED", "COMPOSED_WITH"])
        if kind not in DIRECTED:
            one, other = min(one, other), max(one, other)
        edges.add((one, other, kind))
    return tags, categories, edges


def write(tags: dict[int, set[str]], categories: dict[int, str], edges: Edges) -> None:
    for pk in CAPABILITIES:
        Capability.objects.filter(pk=pk).update(tags=sorted(tags[pk]), category=categories[pk])
    refresh_relations(list(CAPABILITIES))
    Edge.objects.bulk_create(
        Edge(source_id=one, target_id=other, kind=kind, weight=0.5, origin="admin")
        for one, other, kind in edges
    )


def expected(
    usable: set[int], tags: dict[int, set[str]], categories: dict[int, str], edges: Edges
) -> Edges:
    """Compute all edges among usable capabilities by the documented rules."""
    having = {tag: {pk for pk in usable if tag in tags[pk]} for tag in "abcdefg"}
    counting = {tag for tag, them in having.items() if len(them) <= max(5, len(usable) // 10)}
    found = {edge for edge in edges if {edge[0], edge[1]} <= usable}
    for one, other in combinations(sorted(usable), 2):
        if len(tags[one] & tags[other] & counting) >= 2:
            found.add((one, other, "TAGGED_WITH"))
        alike = [pk for pk in usable if categories[pk] == categories[one]]
        if categories[one] == categories[other] and len(alike) <= 8:
            found.add((one, other, "SAME_CATEGORY"))
    return found


def told(caller: Caller, usable: set[int]) -> Edges:
    """Collect the same edges from each capability's neighbours."""
    keys = dict(Capability.objects.values_list("full_name", "pk"))
    names = {pk: name for name, pk in keys.items()}
    found = set()
    for pk in usable:
        around = load_neighbours(caller, names[pk])
        assert around is not None
        for one in around.neighbours:
            ends = (pk, keys[one.full_name])
            if one.direction == "in" or (one.direction == "both" and ends[0] > ends[1]):
                ends = (ends[1], ends[0])
            found.add((*ends, one.type))
    return found


@pytest.mark.django_db
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_neighbours_are_those_of_the_oracle(seed: int) -> None:
    random = Random(seed)
    world: World = random_world(random)
    drawn = draw(random)
    callers = callers_of(world, random)[:6]

    with transaction.atomic():
        store(world)
        write(*drawn)
        answers = {caller: told(caller, set(world.usable(caller))) for caller in callers}
        counted = {caller: count_edges(caller) for caller in callers}
        foreign = [
            load_neighbours(caller, f"integration-{facts.integration}__action_{pk}")
            for caller in callers
            for pk, facts in world.capabilities.items()
            if pk not in world.usable(caller)
        ]
        transaction.set_rollback(True)

    for caller in callers:
        edges = expected(set(world.usable(caller)), *drawn)
        assert answers[caller] == edges
        assert counted[caller] == len(edges)
    assert not any(foreign)


def test_every_kind_has_its_row() -> None:
    assert set(RELATION_KINDS) == set(Kind)
    assert all(0 < row.weight <= row.most <= 1 for row in RELATION_KINDS.values())


@pytest.mark.django_db
@pytest.mark.parametrize("kind", Kind)
def test_kind_without_direction_is_stored_from_its_lower_key(kind: Kind) -> None:
    lower, higher = CapabilityFactory.create(), CapabilityFactory.create()

    relate(by=None, source=higher, target=lower, kind=kind, weight=0.5)

    edge = Edge.objects.get()
    ends = (edge.source_id, edge.target_id)
    directed = RELATION_KINDS[kind].directed
    assert ends == ((higher.pk, lower.pk) if directed else (lower.pk, higher.pk))
    with transaction.atomic():
        turned = Edge(source=higher, target=lower, kind=kind, weight=0.1, origin="metadata")
        if directed:
            turned.save()
        else:
            with pytest.raises(IntegrityError):
                turned.save()


@pytest.mark.parametrize("kind", Kind)
def test_results_pull_in_the_partners_that_the_table_says(kind: Kind) -> None:
    link = RankedRelation(1, 2, kind, 1.0)

    forth = pull_in({1: 0.9}, {2}, [link], boost=0.5)
    back = pull_in({2: 0.9}, {1}, [link], boost=0.5)

    pulls = RELATION_KINDS[kind].pulls_in
    assert (bool(forth), bool(back)) == (pulls in ("target", "both"), pulls == "both")


def test_shared_tags_weigh_up_to_a_bound() -> None:
    weights = [weight_of_shared(Kind.TAGGED_WITH, count) for count in range(1, 9)]

    assert weights == sorted(weights)
    assert weights[-1] == RELATION_KINDS[Kind.TAGGED_WITH].most


MIGRATION = import_module("catalog.migrations.0032_argument_lookups")


@pytest.mark.parametrize(
    ("action", "argument", "others", "found"),
    [
        ("update_contact", "contact_id", ["search_contacts", "list_contacts"], "search_contacts"),
        ("updateContact", "contactIds", ["listContacts", "getAccount"], "listContacts"),
        ("delete-task", "task-uuid", ["task-list", "project-list"], "task-list"),
        ("delete_event", "id", ["list_events", "list_calendars"], "list_events"),
        ("get_flow_run", "flow_run_id", ["search_flows", "search_flow_runs"], "search_flow_runs"),
        ("tag_company", "companyID", ["find_companies"], "find_companies"),
        ("更新_联系人", "联系人_id", ["search_联系人"], "search_联系人"),
        ("read_status", "status_key", ["list_statuses", "list_status"], "list_status"),
        # A name says that something is found there, an argument that something is identified.
        ("update_contact", "contact_name", ["search_contacts"], None),
        ("update_contact", "contact_id", ["create_contact", "list_deals"], None),
        ("update_contact", "", ["search_contacts"], None),
    ],
)
def test_lookup_is_read_off_names(
    action: str, argument: str, others: list[str], found: str | None
) -> None:
    tools = [NamedTool(0, action, (argument,), reads=False)]
    tools += [NamedTool(key, other, (), reads=True) for key, other in enumerate(others, 1)]

    pairs = list(find_lookups(tools))
    heaviest = max(pairs, key=lambda pair: (pair[2], -pair[1]), default=None)
    assert (heaviest and tools[heaviest[1]].action) == found
    assert all(0 < weight <= MOST_WEIGHT for _, _, weight in pairs)


def test_pair_weighs_by_its_two_tools_alone() -> None:
    updating = NamedTool(0, "update_contact", ("contact_id",), reads=False)
    listing = NamedTool(1, "list_contacts", (), reads=True)
    better = NamedTool(2, "search_contacts", (), reads=True)

    [alone] = find_lookups([updating, listing])
    both = set(find_lookups([updating, listing, better]))

    assert alone in both
    assert len(both) == 2


def test_what_requires_the_same_or_changes_something_finds_nothing() -> None:
    tools = [
        NamedTool(1, "update_contact", ("contact_id",), reads=False),
        NamedTool(2, "get_contact", ("id",), reads=True),
        NamedTool(3, "find_or_create_contact", (), reads=False),
    ]

    assert list(find_lookups(tools)) == []


def updating(*required: object) -> Descriptor:
    return tool("update_contact", "crm", input_schema={"required": list(required)})


WEIGHT = MOST_WEIGHT * (1 - 2 / 128)  # of a search; one that lists, too, would weigh more
LOOKUP = ("update_contact", "DEPENDS_ON", "search_contacts", WEIGHT, "schema")


@pytest.mark.django_db
def test_lookup_may_come_later_change_and_go() -> None:
    bring(updating("contact_id"), tool("search_contacts", "other"))
    assert edges() == set()  # each server finds its own

    bring(tool("search_contacts", "crm"))
    assert edges() == {LOOKUP}

    keys = list(Capability.objects.values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as sent:
        refresh_lookups(keys)
    assert len(sent) == 3  # what is known is not written again

    bring(updating("name"))
    assert edges() == set()


@pytest.mark.django_db
def test_schema_of_a_stranger_requires_nothing_it_does_not_say() -> None:
    for required in ("contact_id", {"contact_id": 1}, [1, None, {"contact_id": 1}], None):
        bring(
            tool("update_contact", "crm", input_schema={"required": required}),
            tool("search_contacts", "crm"),
        )
        assert edges() == set()

    bring(updating(1, "contact_id"))
    assert edges() == {LOOKUP}


@pytest.mark.django_db
def test_large_server_has_none() -> None:
    bring(updating("contact_id"), tool("search_contacts", "crm"))

    bring(*(tool(f"thing_{number}", "crm") for number in range(MOST_TOOLS)))

    assert edges() == set()


@pytest.mark.django_db
def test_upgrade_relates_what_is_stored() -> None:
    bring(updating("contact_id"), tool("search_contacts", "crm"))
    Edge.objects.all().delete()

    for _ in range(2):
        MIGRATION.relate_all(apps, None)
        assert edges() == {LOOKUP}
    MIGRATION.forget_all(apps, None)
    assert edges() == set()


@pytest.mark.django_db
def test_message_gets_the_lookup_of_what_it_names_unless_an_admin_says_no() -> None:
    people = invite()
    schema = {"type": "object", "properties": {"label_id": {}}, "required": ["label_id"]}
    naming = CapabilityFactory.create(
        integration=people.gmail, action="rename_label", description="Gives a label another name.",
        input_schema=schema,
    )  # fmt: skip
    looking = CapabilityFactory.create(
        integration=people.gmail, action="list_labels", description="All there are."
    )
    refresh_lookups([looking.pk])
    message = "give the urgent one another name"

    def selected() -> dict[str, str]:
        found = select_capabilities(SelectRequest(message, people.caller)).selected
        return {item.full_name: item.needed_by for item in found}

    assert selected()["gmail__list_labels"] == "gmail__rename_label"

    relate(by=None, source=naming, target=looking, kind="DEPENDS_ON", weight=0.0)
    assert "gmail__list_labels" not in selected()


HIDING: dict[str, dict[str, object]] = {
    "blocked": {"ai_access": Capability.AIAccess.BLOCKED},
    "quarantined": {"state": ReviewState.QUARANTINED},
    "gone": {"available": False},
    "denied": {},
}


@pytest.mark.django_db
@pytest.mark.parametrize("hidden", HIDING)
def test_better_lookup_that_may_not_be_used_changes_nothing(hidden: str) -> None:
    people = invite()
    naming = CapabilityFactory.create(
        integration=people.gmail, action="rename_label", description="Gives a label another name.",
        input_schema={"type": "object", "properties": {"label_id": {}}, "required": ["label_id"]},
    )  # fmt: skip
    CapabilityFactory.create(
        integration=people.gmail, action="list_labels", description="All there are."
    )
    refresh_lookups([naming.pk])

    def told() -> tuple[object, ...]:
        asked = SelectRequest("give the urgent one another name", people.caller)
        selection = select_capabilities(asked)
        chosen = [(one.full_name, one.score, one.needed_by) for one in selection.selected]
        near = load_neighbours(people.caller, naming.full_name)
        assert near is not None
        weights = [(one.full_name, one.type, one.weight) for one in near.neighbours]
        return chosen, weights, count_edges(people.caller)

    before = told()
    better = CapabilityFactory.create(
        integration=people.gmail, action="search_labels", description="Those that match."
    )
    refresh_lookups([naming.pk])
    with_it = told()
    if hidden == "denied":
        root = Space.objects.get(group=people.support, parent=None)
        add_rule(by=None, space=root, effect=Rule.Effect.DENY, capability=better)
    Capability.objects.filter(pk=better.pk).update(**HIDING[hidden])

    assert "gmail__list_labels" in str(before)
    assert "gmail__search_labels" in str(with_it)
    assert told() == before
