"""Working as the owner of the tables: migrations, backup and restore, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager

import dj_database_url
from django.conf import settings
from django.db import connections

_SIGNING_IN = ("USER", "PASSWORD", "HOST", "PORT")


@contextmanager
def as_owner(alias: str = "default") -> Iterator[None]:
    """Let Django's connection be the owner's for a while, to the database that it is at.

    Where no role of that kind is named, and inside a transaction, it stays as it is.
    """
    target = connections[alias]
    given = dict(dj_database_url.parse(settings.DATABASE_OWNER_URL or "postgresql://"))
    owner = {name: given[name] for name in _SIGNING_IN}
    if target.in_atomic_block or given["USER"] in ("", target.settings_dict["USER"]):
        yield
        return
    before = {name: target.settings_dict[name] for name in (*_SIGNING_IN, "OPTIONS")}
    target.close()
    target.settings_dict.update(owner)
    target.settings_dict["OPTIONS"] = before["OPTIONS"] | given.get("OPTIONS", {})
    try:
        yield
    finally:
        target.close()
        target.settings_dict.update(before)
