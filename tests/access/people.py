"""People for tests: alice of support, who may; bob, who is in her group; charlie of finance."""

from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.replays import replayed


@dataclass(frozen=True)
class People:
    """The people. Support has gmail and one tool of the wiki; finance has payroll."""

    alice: User
    bob: User
    charlie: User
    support: Group
    finance: Group
    gmail: Integration
    wiki: Integration
    payroll: Integration
    send: Capability
    search: Capability
    read_page: Capability
    delete_page: Capability
    pay: Capability

    @property
    def caller(self) -> Caller:
        return Caller(self.alice.pk, self.support.pk)

    @property
    def stranger(self) -> Caller:
        return Caller(self.charlie.pk, self.finance.pk)


@replayed
def invite() -> People:
    """Create the people and their grants."""
    support, finance = GroupFactory.create(name="support"), GroupFactory.create(name="finance")
    alice = UserFactory.create(username="alice", groups=[support])
    bob = UserFactory.create(username="bob", groups=[support])
    charlie = UserFactory.create(username="charlie", groups=[finance])
    gmail, wiki, payroll = (
        IntegrationFactory.create(slug=slug) for slug in ("gmail", "wiki", "payroll")
    )
    send = CapabilityFactory.create(
        integration=gmail,
        action="send_email",
        category="communication",
        description="Send an email to one or several people. Attachments are given by address.",
        vector=[1, 0, 0],
    )
    search = CapabilityFactory.create(integration=gmail, action="search", category="search")
    read_page = CapabilityFactory.create(integration=wiki, action="read_page", vector=[0, 1, 0])
    delete_page = CapabilityFactory.create(
        integration=wiki, action="delete_page", side_effect="delete"
    )
    pay = CapabilityFactory.create(integration=payroll, action="pay", vector=[0, 0, 1])
    give(gmail, support)
    give(read_page, support)
    give(payroll, finance)
    return People(
        alice, bob, charlie, support, finance, gmail, wiki, payroll,
        send, search, read_page, delete_page, pay,
    )  # fmt: skip


def client_of(group: Group) -> Client:
    """Return a backend client of the group, with a fixed request id."""
    _, raw = create_key(
        by=None,
        name="backend",
        group=group,
        scopes=["select", "discover", "execute"],
        acts_for_users=True,
    )
    return Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})
