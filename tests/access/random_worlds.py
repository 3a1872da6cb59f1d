"""Random worlds of people, groups, spaces and rules, for comparison with the oracle."""

from random import Random

from acl.rights.caller_lookup import Caller
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, RuleFacts, World

USERS, GROUPS, SPACES = range(1, 5), range(1, 4), range(1, 9)
APPLICATIONS, GONE = range(1, 4), 99
INTEGRATIONS, CAPABILITIES = range(1, 5), range(1, 13)


def random_world(random: Random) -> World:
    """Draw a small, dense world, so that rules and grants interact; most things are active."""

    def mostly() -> bool:
        return random.random() < 0.85

    return World(
        users={user: mostly() for user in USERS},
        groups={group: random.random() < 0.4 for group in GROUPS},
        members={(user, group) for user in USERS for group in GROUPS if random.random() < 0.6},
        spaces=random_spaces(random),
        integrations={
            pk: random_integration(random, enabled=mostly(), approved=mostly())
            for pk in INTEGRATIONS
        },
        capabilities={
            pk: CapabilityFacts(
                random.choice(INTEGRATIONS),
                mostly(),
                mostly(),
                random.choice(AI_ACCESS),
                ended=random.random() < 0.15,
            )
            for pk in CAPABILITIES
        },
        rules={random_rule(random) for _ in range(random.randrange(25))},
        grants={random_grant(random) for _ in range(random.randrange(10))},
        applications={
            pk: frozenset(random.sample(INTEGRATIONS, random.randrange(4))) for pk in APPLICATIONS
        },
    )


def random_integration(random: Random, *, enabled: bool, approved: bool) -> IntegrationFacts:
    """Draw an integration, sometimes a person's own server, which is restricted."""
    if random.random() < 0.25:
        return IntegrationFacts(enabled, approved, restricted=True, owner=random.choice(USERS))
    return IntegrationFacts(enabled, approved, random.random() < 0.5, random.random() < 0.7)


AI_ACCESS = ["execute"] * 6 + ["propose", "app", "blocked"]


def random_spaces(random: Random) -> dict[int, tuple[int, int | None]]:
    """Draw spaces; rarely with a parent of another group, which must have no effect."""
    spaces: dict[int, tuple[int, int | None]] = {}
    for pk in SPACES:
        group = random.choice(GROUPS)
        above = [other for other in spaces if spaces[other][0] == group or random.random() < 0.05]
        spaces[pk] = (group, random.choice(above) if above else None)
    return spaces


def random_rule(random: Random) -> RuleFacts:
    subject = random.choice(
        [{}, {}, {"user": random.choice(USERS)}, {"group": random.choice(GROUPS)}]
    )
    return RuleFacts(random.choice(SPACES), random.randrange(3), **subject, **random_target(random))


def random_grant(random: Random) -> GrantFacts:
    subject = random.choice([{"user": random.choice(USERS)}, {"group": random.choice(GROUPS)}])
    return GrantFacts(**subject, **random_target(random))


def random_target(random: Random) -> dict[str, int]:
    return random.choice(
        [{"integration": random.choice(INTEGRATIONS)}, {"capability": random.choice(CAPABILITIES)}]
    )


def callers_of(world: World, random: Random) -> list[Caller]:
    """Return members in spaces and in the root, and some callers who should get nothing."""
    insiders = [
        Caller(user, group, space, application_id=random_application(random))
        for user, group in sorted(world.members)
        for space in (None, *(pk for pk, facts in world.spaces.items() if facts[0] == group))
    ]
    strangers = [
        Caller(
            random.choice([*USERS, 99]),
            random.choice([*GROUPS, 99]),
            random.choice([None, *SPACES]),
            application_id=random_application(random),
        )
        for _ in range(4)
    ]
    return random.sample(insiders, min(12, len(insiders))) + strangers


def united_callers(random: Random) -> list[Caller]:
    """Return users who ask in several groups together, members or not, in any space or none."""
    return [
        Caller(
            random.choice(USERS),
            first,
            random.choice([None, None, *SPACES]),
            tuple(others),
            random_application(random),
        )
        for first, *others in (random.sample(GROUPS, random.choice([2, 3])) for _ in range(8))
    ]


def random_application(random: Random) -> int | None:
    """Draw the application that asks: often none, rarely one that is gone."""
    applications: list[int | None] = [*[None] * 5, *APPLICATIONS, *APPLICATIONS, GONE]
    return random.choice(applications)
