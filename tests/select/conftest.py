"""Fixtures: the embedded starter collection; alice may use all of it, charlie nothing."""

from dataclasses import dataclass, replace

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.embedding.shipped_model import prepare_model
from catalog.registration.register import register
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities
from marketplace.offers.kinds.starter import starter_collection
from tests.replays import replayed


@dataclass(frozen=True)
class Shop:
    """People of two groups with one catalogue."""

    alice: Caller
    charlie: Caller

    def ask(self, message: str, **options: object) -> Selection:
        """Select for alice."""
        return select_capabilities(replace(SelectRequest(message, self.alice), **options))  # type: ignore[arg-type]


@pytest.fixture
def shop(db: None) -> Shop:
    prepare_model(settings.PEGBOARD_MODEL_DIR)
    return _open_shop()


@replayed
def _open_shop() -> Shop:
    support, finance = Group.objects.create(name="support"), Group.objects.create(name="finance")
    register(starter_collection(), by=None, source="starter", group=support, send=False)
    embed_pending()
    return Shop(_member("alice", support), _member("charlie", finance))


def names(selection: Selection) -> list[str]:
    """Return the full names, best first."""
    return [item.full_name for item in selection.selected]


def _member(name: str, group: Group) -> Caller:
    user = User.objects.create(username=name)
    user.groups.add(group)
    return Caller(user.pk, group.pk)
