"""The cost of spaces and rules: the selection's statement with and without them, alternately.

Also compares its answers with the oracle's. "Without" is a second connection whose schema shows
only roots and no rules; all else is the same rows in the same pages. Milliseconds depend on the
machine: look at the ratios.
"""

import argparse
import json
import random
import time
from typing import Any

import django

SPACES, RULES = 10, 100  # per group: with 50 groups, 500 and 5,000
OPEN, RESTRICTED = 0.1, 0.6
PLAIN = "plain"
WITHOUT = """
CREATE SCHEMA plain;
CREATE TABLE plain.acl_space (LIKE public.acl_space INCLUDING ALL);
CREATE TABLE plain.catalog_rule (LIKE public.catalog_rule INCLUDING ALL);
INSERT INTO plain.acl_space SELECT * FROM public.acl_space WHERE parent_id IS NULL;
"""


def main() -> None:
    """Print one JSON object with every figure of this size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--asked", type=int, default=20, help="callers put to the oracle")
    options = parser.parse_args()
    django.setup()
    print(json.dumps(measure(options.size, options.calls, options.asked)))


def measure(size: int, calls: int, asked: int) -> dict[str, Any]:
    """Add spaces and rules to the existing world (or build it), and time both ways."""
    from lab.bench.world import build_world

    if _is_empty():
        small = size < 5000
        build_world(
            capabilities=size,
            users=200 if small else 1000,
            groups=20 if small else 50,
            model="made-up",
        )
    dice = random.Random(size)
    counts = _lay_down(dice)
    callers = _callers(dice, calls)
    figures = _time(callers, dice)
    figures |= {"size": size, **counts, "oracle": _compare(callers[:asked], dice)}
    figures["admins"] = _time_admins(callers[:asked], dice)
    return figures


def _is_empty() -> bool:
    from django.core.management import call_command

    from catalog.models import Capability

    call_command("migrate", verbosity=0)
    return not Capability.objects.exists()


def _lay_down(dice: random.Random) -> dict[str, int]:
    """Add spaces up to five levels deep and rules; open few groups, restrict most integrations."""
    from django.contrib.auth.models import Group, User
    from django.db import connection

    from acl.models import GroupPolicy, Space
    from catalog.models import Capability, Integration, Rule

    groups = list(Group.objects.order_by("pk"))
    integrations = list(Integration.objects.order_by("pk").values_list("pk", flat=True))
    capabilities = list(Capability.objects.order_by("pk").values_list("pk", flat=True))
    users = list(User.objects.order_by("pk").values_list("pk", flat=True))
    restricted = dice.sample(integrations, int(len(integrations) * RESTRICTED))
    Integration.objects.filter(pk__in=restricted).update(restricted=True)
    opened = dice.sample([group.pk for group in groups], max(1, int(len(groups) * OPEN)))
    GroupPolicy.objects.filter(group__in=opened).update(open_default=True)
    rules = []
    for group in groups:
        tree = _tree(group, dice)
        for _ in range(RULES):
            rule = Rule(space=dice.choice(tree), effect=dice.choices([0, 1, 2], [40, 20, 40])[0])
            if dice.random() < 0.55:
                rule.integration_id = dice.choice(integrations)
            else:
                rule.capability_id = dice.choice(capabilities)
            whom = dice.random()
            if whom > 0.85:
                rule.user_id = dice.choice(users)
            elif whom > 0.6:
                rule.group_id = dice.choice(groups).pk
            rules.append(rule)
    Rule.objects.bulk_create(rules, batch_size=1000)
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT)
        cursor.execute("VACUUM (ANALYZE)")
    return {"spaces": Space.objects.count(), "rules": len(rules), "groups": len(groups)}


def _tree(group: Any, dice: random.Random) -> list[Any]:
    from acl.models import Space

    root = Space.objects.get(group=group, parent=None)
    tree, depth = [root], {root.pk: 1}
    while len(tree) < SPACES:
        parent = dice.choice([space for space in tree if depth[space.pk] < 5])
        name = f"space {len(tree)}"
        space = Space.objects.create(
            group=group, parent=parent, name=name, slug=name.replace(" ", "-")
        )
        depth[space.pk] = depth[parent.pk] + 1
        tree.append(space)
    return tree


def _callers(dice: random.Random, calls: int) -> list[Any]:
    """Return members in any space of their group."""
    from django.contrib.auth.models import User

    from acl.models import Space
    from acl.rights.caller_lookup import Caller

    spaces: dict[int, list[int]] = {}
    for pk, group in Space.objects.order_by("pk").values_list("pk", "group_id"):
        spaces.setdefault(group, []).append(pk)
    links = list(User.groups.through.objects.order_by("pk").values_list("user_id", "group_id"))
    return [
        Caller(user, group, dice.choice(spaces[group]))
        for user, group in dice.choices(links, k=calls)
    ]


def _time(callers: list[Any], dice: random.Random) -> dict[str, Any]:
    """Time each caller both ways, in balanced order."""
    from dataclasses import replace

    import numpy as np
    from django.db import connections

    from catalog import lexical
    from catalog.models import EmbeddingModel
    from discovery.select._candidate_rows import CandidateQuery
    from discovery.select.candidates import find_candidates
    from lab.bench.selection import spread
    from lab.bench.world import THINGS

    usual = connections.databases["default"]
    options = usual["OPTIONS"] | {
        "options": f"{usual['OPTIONS']['options']} -c search_path={PLAIN},public"
    }
    connections.databases[PLAIN] = usual | {"OPTIONS": options}
    ways = {"with": connections["default"], "without": connections[PLAIN]}
    model = EmbeddingModel.objects.get(active=True)
    numbers = np.random.default_rng(1)
    times: dict[str, list[float]] = {name: [] for name in ways}
    usable: dict[str, list[float]] = {name: [] for name in ways}
    for place, caller in enumerate([*callers[:10], *callers]):  # the first ten as warm-up
        vectors = numbers.standard_normal((1, model.dimension)).astype(np.float32)
        words = [lexical.query_vector(" ".join(dice.sample(THINGS, 4)))]
        for name in sorted(ways, reverse=place % 2 == 1):
            connections["default"] = ways[name]  # what `django.db.connection` stands for
            asks = caller if name == "with" else replace(caller, space_id=None)
            started = time.perf_counter()
            found = find_candidates(
                CandidateQuery(caller=asks, model=model.name, vectors=vectors, words=words)
            )
            took = (time.perf_counter() - started) * 1000
            if place >= 10:
                times[name].append(took)
                usable[name].append(found.usable)
    connections["default"] = ways["with"]
    figures: dict[str, Any] = {name: spread(values) for name, values in times.items()}
    figures["usable"] = {name: spread(values) for name, values in usable.items()}
    pairs = [one / other for one, other in zip(times["with"], times["without"], strict=True)]
    figures["ratio"] = {
        "p50": round(figures["with"]["p50"] / figures["without"]["p50"], 2),
        "p95": round(figures["with"]["p95"] / figures["without"]["p95"], 2),
        "pairs": spread(pairs)["p50"],
    }
    return figures


def _time_admins(callers: list[Any], dice: random.Random) -> dict[str, dict[str, float]]:
    """Time the statements of admin pages."""
    from collections.abc import Callable

    from django.contrib.auth.models import Group

    from catalog.access.change_preview import Change, preview
    from catalog.access.explanation import explain, list_holders, list_reach
    from catalog.models import Capability, Integration
    from lab.bench.selection import spread

    capabilities = dice.sample(list(Capability.objects.select_related("integration")), len(callers))
    integrations = dice.sample(list(Integration.objects.all()), len(callers))
    groups = Group.objects.in_bulk()
    ways: dict[str, Callable[[Any, Capability, Integration], object]] = {
        "explain": lambda who, what, _: explain(caller=who, full_name=what.full_name),
        "reach": lambda who, _, __: list_reach(caller=who),
        "holders": lambda _, what, __: list_holders(capability=what),
        "preview of a grant": lambda who, _, it: preview(
            [Change("grant", target=it, group=groups[who.group_id])]
        ),
        "preview of a restriction": lambda _, __, it: preview([Change("restrict", target=it)]),
        "preview of opening a group": lambda who, _, __: preview(
            [Change("open", group=groups[who.group_id])]
        ),
    }
    figures = {}
    for name, way in ways.items():
        times = []
        for who, what, it in zip(callers, capabilities, integrations, strict=True):
            started = time.perf_counter()
            way(who, what, it)
            times.append((time.perf_counter() - started) * 1000)
        figures[name] = spread(times)
    return figures


def _compare(callers: list[Any], dice: random.Random) -> dict[str, int]:
    """Count answers that equal the oracle's, and others.

    For each caller it compares everything with a rule or direct grant in the group, and a thousand
    more.
    """
    from catalog.access.usable_ids import load_access_modes
    from catalog.models import Capability

    every = list(Capability.objects.order_by("pk").values_list("pk", flat=True))
    equal = different = 0
    for caller in callers:
        world = _world_of(caller)
        ruled = {rule.capability for rule in world.rules if rule.capability is not None}
        looked_at = ruled | set(dice.sample(every, min(1000, len(every))))
        answers = load_access_modes(caller, None)
        for pk in looked_at:
            same = ("no", "propose", "allow")[answers.get(pk, 0)] == world.answer(caller, pk)
            equal, different = equal + same, different + (not same)
    return {"callers": len(callers), "equal": equal, "different": different}


def _world_of(caller: Any) -> Any:
    """Load the oracle's world of the caller's group only, since the oracle loops over all of it."""
    from django.contrib.auth.models import User

    from acl.models import GroupPolicy, Space
    from catalog.models import Capability, Integration, IntegrationGroupPermission, Rule
    from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, RuleFacts, World

    group = caller.group_id
    through = User.groups.through.objects.filter(user=caller.user_id)
    rules = Rule.objects.filter(space__group=group).values_list(
        "space_id", "effect", "user_id", "group_id", "integration_id", "capability_id"
    )
    granted = IntegrationGroupPermission.objects.filter(group=group)
    spaces = Space.objects.filter(group=group).values_list("pk", "group_id", "parent_id")
    return World(
        users={caller.user_id: User.objects.get(pk=caller.user_id).is_active},
        groups={group: GroupPolicy.objects.get(group=group).open_default},
        members=set(through.values_list("user_id", "group_id")),
        spaces={pk: (owner, parent) for pk, owner, parent in spaces},
        integrations={
            pk: IntegrationFacts(enabled, state == "approved", restricted)
            for pk, enabled, state, restricted in Integration.objects.values_list(
                "pk", "enabled", "state", "restricted"
            )
        },
        capabilities={
            pk: CapabilityFacts(integration, available, state == "approved", access)
            for pk, integration, available, state, access in Capability.objects.values_list(
                "pk", "integration_id", "available", "state", "ai_access"
            )
        },
        rules={RuleFacts(*rule) for rule in rules},
        grants={
            GrantFacts(group=group, integration=pk)
            for pk in granted.values_list("content_object_id", flat=True)
        },
    )


if __name__ == "__main__":
    main()
