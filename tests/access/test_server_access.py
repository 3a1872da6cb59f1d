"""Access to a server as a whole: what is said of the integration, by its groups together."""

import random

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.access.usable_ids import may_use_server, usable_servers
from catalog.models import Rule
from tests.access.people import People
from tests.factories import GroupFactory, IntegrationFactory, give, lay_down


def test_grant_of_the_integration_opens_its_server(people: People) -> None:
    alice = Caller(people.alice.pk, people.support.pk)
    charlie = Caller(people.charlie.pk, people.finance.pk)

    assert may_use_server(alice, people.gmail.pk)
    assert not may_use_server(charlie, people.gmail.pk)
    assert not may_use_server(Caller(people.charlie.pk, people.support.pk), people.gmail.pk)


def test_rule_that_asks_first_closes_it(people: People) -> None:
    """Keep resources closed where calls ask first: nobody could approve the reading."""
    root = Space.objects.get(group=people.support, parent=None)
    lay_down(Rule.Effect.PROPOSE, people.gmail, root)

    assert not may_use_server(Caller(people.alice.pk, people.support.pk), people.gmail.pk)


def test_deny_in_the_space_limits_all_groups(people: People) -> None:
    other = GroupFactory.create()
    people.alice.groups.add(other)
    space = Space.objects.get(group=other, parent=None)
    lay_down(Rule.Effect.DENY, people.gmail, space)

    together = Caller(people.alice.pk, other.pk, None, (people.support.pk,))
    in_space = Caller(people.alice.pk, other.pk, space.pk, (people.support.pk,))

    assert may_use_server(together, people.gmail.pk)
    assert not may_use_server(in_space, people.gmail.pk)


def test_many_servers_are_judged_as_each_alone(people: People) -> None:
    """Lay down rules and grants at random; ask of all servers at once, and of each by itself."""
    draw = random.Random(8)
    other = GroupFactory.create()
    people.alice.groups.add(other)
    spaces = [Space.objects.get(group=group, parent=None) for group in (people.support, other)]
    servers = IntegrationFactory.create_batch(12)
    for server in servers:
        for group in draw.sample([people.support, other], draw.randint(0, 2)):
            give(server, group)
        for space in draw.sample(spaces, draw.randint(0, 2)):
            lay_down(draw.choice(list(Rule.Effect)), server, space)
    callers = [
        Caller(people.alice.pk, people.support.pk),
        Caller(people.alice.pk, other.pk, None, (people.support.pk,)),
        Caller(people.alice.pk, other.pk, spaces[1].pk, (people.support.pk,)),
        Caller(people.charlie.pk, people.finance.pk),
    ]

    for caller in callers:
        alone = {server.pk for server in servers if may_use_server(caller, server.pk)}
        assert usable_servers(caller, [server.pk for server in servers]) == alone
    assert usable_servers(callers[0], []) == set()
    assert any(usable_servers(callers[2], [server.pk for server in servers]))
