"""Access to a server as a whole: what is said of the integration, by its groups together."""

import pytest

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.access.servers import may_use_server
from catalog.models import Rule
from tests.access.people import People, invite
from tests.factories import GroupFactory, lay_down


@pytest.fixture
def people(db: None) -> People:
    return invite()


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
