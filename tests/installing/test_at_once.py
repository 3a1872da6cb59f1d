"""Many who press the button, and many workers: one installation, of which one result remains."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from catalog.models import Capability, Integration
from marketplace.installing import install
from marketplace.models import Installation
from marketplace.services.installs import AlreadyThereError
from tests.catalog.conftest import embedder as embedder
from tests.installing.test_installing import _connections as _connections
from tests.installing.test_installing import alice as alice
from tests.installing.test_installing import begin, evil

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("embedder")]


def at_once(times: int, what: Callable[[], Any]) -> list[Any]:
    def asked(_: int) -> Any:
        try:
            return what()
        except AlreadyThereError:
            return "already there"
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(asked, range(times)))


def test_one_installation_and_one_result(alice: User) -> None:
    begun = at_once(6, lambda: str(begin(alice, evil())))
    pk = Installation.objects.get().pk

    at_once(4, lambda: install(pk))

    assert Counter(begun) == {"evil queued": 1, "already there": 5}
    assert Installation.objects.get().state == Installation.State.EMBEDDING
    assert list(Capability.objects.values_list("full_name", flat=True)) == ["evil__echo"]
    assert not Integration.objects.get().enabled
