"""The starter collection, embedded, and alice who may use all of it; charlie may use nothing."""

from dataclasses import dataclass, replace

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User

from acl.callers import Caller
from catalog.embedding.shipped import prepare_model
from catalog.indexing import embed_pending
from catalog.services.registration import register
from discovery.selected import Asked, Selection
from discovery.services.selection import select_capabilities
from marketplace.sources.starter import starter_collection


@dataclass(frozen=True)
class Shop:
    """People of two groups before one catalogue."""

    alice: Caller
    charlie: Caller

    def ask(self, message: str, **options: object) -> Selection:
        """What alice would be given."""
        return select_capabilities(replace(Asked(message, self.alice), **options))  # type: ignore[arg-type]


@pytest.fixture
def shop(db: None) -> Shop:
    prepare_model(settings.PEGBOARD_MODEL_DIR)
    support, finance = Group.objects.create(name="support"), Group.objects.create(name="finance")
    register(starter_collection(), by=None, source="starter", group=support, send=False)
    embed_pending()
    return Shop(_member("alice", support), _member("charlie", finance))


def names(selection: Selection) -> list[str]:
    """The full names, best first."""
    return [item.full_name for item in selection.selected]


def _member(name: str, group: Group) -> Caller:
    user = User.objects.create(username=name)
    user.groups.add(group)
    return Caller(user.pk, group.pk)
