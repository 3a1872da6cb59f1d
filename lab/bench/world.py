"""A made-up organisation of any size for measurements: capabilities, users, groups, grants.

Texts come from a small vocabulary, and vectors at random (seeded): the time depends on the number
of rows and on rights, not on what they say.
"""

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, transaction
from pgvector import SparseVector

from acl.models import GroupPolicy, Space
from acl.rights.caller_lookup import Caller
from catalog import lexical
from catalog.models import (
    Capability,
    Embedding,
    EmbeddingModel,
    Integration,
    IntegrationGroupPermission,
    LexicalVector,
)

VERBS = """
    list get create update delete search send export import convert schedule share archive
    translate
""".split()  # noqa: SIM905 - a list of words is harder to read
THINGS = """
    message calendar event task invoice customer file folder report branch issue weather
    forecast flight hotel contact note photo playlist payment order product ticket dashboard
    metric alert database table query page
""".split()  # noqa: SIM905 - a list of words is harder to read
SERVICES = """
    acme north river cloud paper spark delta harbor maple orbit pixel quartz
""".split()  # noqa: SIM905 - a list of words is harder to read


# Capabilities that are made and stored at a time.
PART = 2000


@dataclass(frozen=True, slots=True)
class World:
    """The world built: callers by the number of capabilities that they may use, fewest first."""

    callers: list[tuple[int, Caller]]
    model: str


def build_world(
    *,
    capabilities: int,
    users: int,
    groups: int,
    model: str,
    dimension: int = 384,
    integrations: int = 0,
    share: float = 1.0,
) -> World:
    """Fill an empty database; takes about a second per 2,000 capabilities.

    Without a number of `integrations`, twenty capabilities share one. `share` makes what groups may
    use smaller.
    """
    dice = random.Random(capabilities)
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Past the gate, or all of it would wait for an admin and nobody could use anything.
            cursor.execute("SET LOCAL pegboard.gate = 'open'")
        owners = _integrations(integrations or max(5, capabilities // 20))
        sizes = _fill(capabilities, owners, dice, _Vectors(model, dimension, capabilities))
        callers = _people(users, groups, owners, sizes, share, dice)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")  # as autovacuum does within a minute
    return World(sorted(callers, key=lambda pair: pair[0]), model)


def _integrations(count: int) -> list[Integration]:
    return Integration.objects.bulk_create(
        [
            Integration(slug=f"{SERVICES[i % len(SERVICES)]}-{i}", kind="mcp", title=f"Service {i}")
            for i in range(count)
        ],
        batch_size=500,
    )


def _fill(
    count: int, integrations: list[Integration], dice: random.Random, vectors: "_Vectors"
) -> dict[int, int]:
    """Store capabilities with their vectors, a part at a time; return how many each owner has."""
    # Sizes of servers are log-normal: most have a handful of tools, few have hundreds.
    weights = [dice.lognormvariate(0, 1) for _ in integrations]
    # The capabilities of an integration are stored together, as by an import.
    owners = sorted(dice.choices(integrations, weights, k=count), key=lambda owner: owner.pk)
    for start in range(0, count, PART):
        part = enumerate(owners[start : start + PART], start)
        vectors.store(
            Capability.objects.bulk_create(
                [_capability(i, owner, dice) for i, owner in part], batch_size=500
            )
        )
    return Counter(owner.pk for owner in owners)


def _capability(number: int, integration: Integration, dice: random.Random) -> Capability:
    verb, thing = dice.choice(VERBS), dice.choice(THINGS)
    name = f"{integration.slug}__{verb}_{thing}_{number}"
    others = " ".join(dice.choices(THINGS, k=dice.randint(6, 24)))
    properties = {dice.choice(THINGS): {"type": "string", "description": others} for _ in range(4)}
    return Capability(
        integration=integration,
        identifier=f"tool:{name}",
        full_name=name,
        kind="tool",
        action=f"{verb}_{thing}_{number}",
        display_name=f"{verb} {thing}".title(),
        description=f"{verb.capitalize()} a {thing}: {others}.",
        category="api",
        tags=[thing],
        input_schema={"type": "object", "properties": properties},
        definition_hash=name,
        fingerprint=name,
        tokens=dice.randint(60, 700),
        available=dice.random() > 0.03,
        core=number < 12,
        pinned=number == 0,
    )


class _Vectors:
    """Random vectors of length one, and words, for capabilities as they are stored."""

    def __init__(self, name: str, dimension: int, seed: int) -> None:
        self._model = EmbeddingModel.objects.create(name=name, dimension=dimension, active=True)
        self._numbers = np.random.default_rng(seed)

    def store(self, rows: list[Capability]) -> None:
        size = (len(rows), self._model.dimension)
        vectors = self._numbers.standard_normal(size).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        Embedding.objects.bulk_create(
            Embedding(
                capability=row, model=self._model, text_hash="x", vector_hash="x", vector=vector
            )
            for row, vector in zip(rows, vectors, strict=True)
        )
        LexicalVector.objects.bulk_create(
            LexicalVector(
                capability=row, terms=SparseVector(lexical.document_vector(row), lexical.DIMENSIONS)
            )
            for row in rows
        )


def _people(
    users: int,
    groups: int,
    integrations: list[Integration],
    sizes: dict[int, int],
    share: float,
    dice: random.Random,
) -> list[tuple[int, Caller]]:
    teams = Group.objects.bulk_create([Group(name=f"group {i}") for i in range(groups)])
    GroupPolicy.objects.bulk_create([GroupPolicy(group=team) for team in teams])
    Space.objects.bulk_create([Space(group=team, name="root", slug="root") for team in teams])
    allowed = {
        team.pk: _grants(team, share * _share(i, groups), integrations, sizes)
        for i, team in enumerate(teams)
    }
    people = User.objects.bulk_create([User(username=f"user{i}") for i in range(users)])
    links, callers = [], []
    for person in people:
        for team in dice.sample(teams, dice.randint(1, 4)):
            links.append(User.groups.through(user=person, group=team))
            callers.append((allowed[team.pk], Caller(person.pk, team.pk)))
    User.groups.through.objects.bulk_create(links, batch_size=1000)
    return callers


def _share(number: int, groups: int) -> float:
    """Draw a share of the catalogue: from almost nothing to 40 %, median 6 %."""
    place = (number + 0.5) / groups
    return (
        0.06 * (place / 0.5) ** 2 if place < 0.5 else 0.06 * (0.40 / 0.06) ** ((place - 0.5) / 0.5)
    )


def _grants(
    team: Group, share: float, integrations: list[Integration], sizes: dict[int, int]
) -> int:
    """Grant integrations until the team may use that share (at least 20); return their number."""
    wanted = max(20, share * sum(sizes.values()))
    permission = Permission.objects.get(codename="use_integration")
    order = random.Random(team.pk).sample(integrations, len(integrations))
    given, total = [], 0
    for integration in order:
        if total >= wanted:
            break
        given.append(
            IntegrationGroupPermission(
                group=team, permission=permission, content_object=integration
            )
        )
        total += sizes.get(integration.pk, 0)
    IntegrationGroupPermission.objects.bulk_create(given)
    return total
