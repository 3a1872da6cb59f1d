"""Selection, rights, locks and cursors behind a connection pooler.

Each transaction may then be on another connection to Postgres.
PgBouncer 1.21 and later keeps track of prepared statements. Older ones do not, nor does a later one
that is told not to.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.people.people import end_sessions
from acl.platform.database_connections import PooledError, is_pooled, may_prepare
from acl.platform.database_work import lock_key, try_lock
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from catalog.registration.catalog_rebuild import scratch_catalog
from tests.factories import take_away
from tests.pgbouncer import PROGRAM, pooled, tracks_statements
from tests.select.conftest import Shop

TRACKED = "max_prepared_statements = 100"
UNTRACKED = "max_prepared_statements = 0"


@contextmanager
def through_pgbouncer(more: str) -> Iterator[None]:
    """Lead all of this process's connections through PgBouncer."""
    target, settings = connection.get_connection_params(), connection.settings_dict
    names = ("dbname", "user", "password", "host", "port")
    direct = {name: settings[name] for name in ("HOST", "PORT")}
    with pooled({name: target.get(name) for name in names}, more=more) as port:
        connection.close()
        settings.update(HOST="127.0.0.1", PORT=str(port))
        try:
            yield
        finally:
            connection.close()
            settings.update(direct)


@pytest.mark.skipif(PROGRAM is None, reason="the program pgbouncer is not installed")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tracked", [True, False])
def test_behind_pgbouncer(shop: Shop, tracked: bool) -> None:
    if tracked and not tracks_statements():
        pytest.skip("this pgbouncer is older than 1.21")
    more = TRACKED if tracked else UNTRACKED if tracks_statements() else ""
    with through_pgbouncer(more):
        assert is_pooled()
        assert may_prepare() == tracked
        _many_at_once(shop)
        _nothing_is_left_behind(shop)


def _many_at_once(shop: Shop) -> None:
    """Check that answers belong to who asked, and that a revoke acts at the next request."""
    asking = [_client(shop.alice), _client(shop.charlie)] * 4
    assert _at_once(_finds_weather, asking) == [True, False] * 4
    weather = Capability.objects.get(full_name="weather")
    for granted in (weather, weather.integration):
        if granted is not None:
            take_away(granted, Group.objects.get(pk=shop.alice.group_id))
    assert _at_once(_finds_weather, asking) == [False, False] * 4


def _nothing_is_left_behind(shop: Shop) -> None:
    """Locks, cursors and temporary tables do not stay with a connection that others get."""
    alice = User.objects.get(pk=shop.alice.user_id)
    Client().force_login(alice)
    with try_lock("one") as mine, try_lock("one") as again:
        assert (mine, again) == (True, False)
        assert end_sessions(alice) == 1
    assert _holders("one") == []
    with pytest.raises(PooledError), scratch_catalog():
        raise AssertionError


def test_a_lock_is_not_the_sessions(transactional_db: None) -> None:
    """Another connection holds it in a transaction, which ends with the block."""
    with try_lock("one") as mine:
        assert mine
        assert _holders("one") == [False]
        with try_lock("one") as again, try_lock("two") as other:
            assert (again, other) == (False, True)
    assert _holders("one") == []


def test_a_direct_connection_prepares(db: None) -> None:
    assert not is_pooled()
    assert may_prepare()


def _holders(name: str) -> list[bool]:
    """Return for each process that holds the lock whether it serves this connection."""
    key = lock_key(name) & 0xFFFF_FFFF
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid = pg_backend_pid() FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [key],
        )
        return [mine for (mine,) in cursor.fetchall()]


def _client(caller: Caller) -> Client:
    owner, group = User.objects.get(pk=caller.user_id), Group.objects.get(pk=caller.group_id)
    _, raw = create_key(by=None, name="pooled", scopes=["select"], group=group, owner=owner)
    return Client(headers={"Authorization": f"Bearer {raw}"})


def _finds_weather(client: Client) -> bool:
    body = {"message": "what is the weather in Lisbon?"}
    answer = client.post("/api/v1/select", body, "application/json")
    assert answer.status_code == 200, answer.content
    return "weather" in [one["full_name"] for one in answer.json()["selected"]]


def _at_once(ask: Callable[[Client], bool], clients: list[Client]) -> list[bool]:
    def asked(client: Client) -> bool:
        try:
            return ask(client)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(clients)) as threads:
        return list(threads.map(asked, clients))
