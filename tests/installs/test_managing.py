"""Management of installations: disabled ones serve nobody, removed ones leave nothing."""

import pytest
from django.contrib.auth.models import User

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration, IntegrationGroupPermission, Secret
from catalog.models.integration import ReviewState
from marketplace.installs.integration_management import NotReadyError, set_enabled, uninstall
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory.create(username="alice", is_staff=True)


def test_disabled_serves_nobody_and_removed_leaves_nothing(alice: User) -> None:
    group = GroupFactory.create()
    bob = UserFactory.create(username="bob", groups=[group])
    mail = CapabilityFactory.create(vector=[1, 0, 0]).integration
    give(mail, group)
    Secret.objects.create(integration=mail, name="TOKEN", sealed=b"x")
    usable = Capability.objects.usable_by(Caller(bob.pk, group.pk))

    seen = [usable.count()]
    changed = [set_enabled(by=alice, integration=mail, enabled=on) for on in (False, False)]
    seen.append(usable.count())
    changed.append(set_enabled(by=alice, integration=mail, enabled=True))
    seen.append(usable.count())
    Integration.objects.filter(pk=mail.pk).update(state=ReviewState.PENDING, enabled=False)
    with pytest.raises(NotReadyError):
        set_enabled(by=alice, integration=mail, enabled=True)
    uninstall(by=alice, integration=mail)
    uninstall(by=alice, integration=mail)

    assert (seen, changed) == ([1, 0, 1], [True, False, True])
    for table in (Integration, Capability, IntegrationGroupPermission, Secret):
        assert not table.objects.exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["integration.disable", "integration.enable", "integration.uninstall"]
