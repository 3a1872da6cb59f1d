"""Connecting as the owner of the tables, for migrations, backup and restore."""

from collections.abc import Iterator
from contextlib import contextmanager

import dj_database_url
from django.conf import settings
from django.db import connections

_CREDENTIALS = ("USER", "PASSWORD", "HOST", "PORT")


@contextmanager
def as_owner(alias: str = "default") -> Iterator[None]:
    """Connect Django as the owner for the duration of the block, to its current database.

    Does nothing inside a transaction, or if no owner role is configured.
    """
    target = connections[alias]
    owner_settings = dict(dj_database_url.parse(settings.DATABASE_OWNER_URL or "postgresql://"))
    owner = {name: owner_settings[name] for name in _CREDENTIALS}
    if target.in_atomic_block or owner_settings["USER"] in ("", target.settings_dict["USER"]):
        yield
        return
    before = {name: target.settings_dict[name] for name in (*_CREDENTIALS, "OPTIONS")}
    target.close()
    target.settings_dict.update(owner)
    target.settings_dict["OPTIONS"] = before["OPTIONS"] | owner_settings.get("OPTIONS", {})
    try:
        yield
    finally:
        target.close()
        target.settings_dict.update(before)
