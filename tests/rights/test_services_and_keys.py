"""Services compare what they administer with the key that the request has shown.

The doors are not asked here: services are called as a door that forgot its check would call them.
"""

from collections.abc import Callable, Iterator
from random import Random

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied

from acl.actor.request_context import note_key, request_context
from acl.audit._installation_actions import KINDS, SINGLE
from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey, AuditEntry
from acl.rights.delegation.authority import KeyHolder
from catalog.models import Integration
from discovery.calls._policy import set_policy
from discovery.models import CallPolicy
from discovery.models.call import Content
from marketplace.installs.integration_management import uninstall
from tests.factories import GroupFactory, IntegrationFactory, UserFactory

pytestmark = pytest.mark.django_db
ACTIONS = sorted({*SINGLE, *(f"{kind}.anything" for kind in KINDS)})


@pytest.fixture
def owner() -> User:
    return UserFactory.create(is_staff=True, is_superuser=True)


def some_holders(owner: User, chance: Random, number: int = 6) -> Iterator[KeyHolder]:
    """Yield keys with random scopes for random groups of their owner, or for all of them."""
    for _ in range(number):
        groups = [GroupFactory.create() for _ in range(chance.randint(1, 3))]
        owner.groups.add(*groups)
        everywhere = chance.random() < 0.4
        scopes = chance.sample(ApiKey.Scope.values, chance.randint(1, len(ApiKey.Scope.values)))
        _key, raw = create_key(
            by=None, name="some", owner=owner, scopes=scopes, all_groups=everywhere,
            groups=[] if everywhere else groups,
        )  # fmt: skip
        holder = holder_of(raw)
        assert isinstance(holder, KeyHolder)
        yield holder


def is_done(holder: KeyHolder, act: Callable[[], object]) -> bool:
    """Return True if the act, in a request with the key, was not refused."""
    with request_context(request_id="some", address=""):
        note_key(holder)
        try:
            act()
        except PermissionDenied:
            return False
    return True


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_an_action_of_the_installation_takes_a_key_of_the_installation(
    owner: User, action: str, seed: int
) -> None:
    for holder in some_holders(owner, Random(f"{action}{seed}")):
        before = AuditEntry.objects.count()

        done = is_done(holder, lambda: record(by=owner, action=action, target="any"))

        assert done == holder.is_of_the_installation, holder
        assert AuditEntry.objects.count() - before == done


@pytest.mark.parametrize("seed", range(5))
def test_a_service_changes_nothing_for_a_key_of_some_groups(owner: User, seed: int) -> None:
    for holder in some_holders(owner, Random(seed)):
        group: Group = GroupFactory.create()
        integration = IntegrationFactory.create()

        def policy(group: Group = group) -> None:
            set_policy(by=owner, group=group, content=Content.REMOVED, days=3)

        def removal(integration: Integration = integration) -> None:
            uninstall(by=owner, integration=integration)

        assert is_done(holder, policy) == holder.is_of_the_installation
        assert CallPolicy.objects.filter(group=group).exists() == holder.is_of_the_installation
        assert is_done(holder, removal) == holder.is_of_the_installation
        left = Integration.objects.filter(pk=integration.pk).exists()
        assert left != holder.is_of_the_installation


def test_a_person_in_a_session_is_asked_at_the_door_only(owner: User) -> None:
    with request_context(request_id="some", address="", person=lambda: owner):
        record(by=owner, action="group.merged", target="any")

    assert AuditEntry.objects.filter(action="group.merged").exists()
