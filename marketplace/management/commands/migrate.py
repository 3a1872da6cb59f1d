"""`manage.py migrate`, with a lock timeout, so that it never blocks a running Pegboard.

A schema change waits for everyone who uses the table, and later requests queue behind it. So a
migration that gets no lock within a second gives up, lets them pass, and tries again.
It runs as the owner of the tables, and then sets the rights of the application's role.
A database from before 0.2.0 is refused: its steps are no longer here.
"""

import time
from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable

from acl.platform.database_connections import is_pooled
from marketplace.operate.roles.grants import grant_rights
from marketplace.operate.roles.owner import as_owner

_LOCK_MILLISECONDS = 1000
_TRIES = 30
_PAUSE_SECONDS = 1.0
# The first migration of each app. Whoever took it has nothing of earlier steps left to take.
FIRST_MIGRATIONS = {
    "acl": "0001_squashed_0018_client_documents",
    "catalog": "0001_squashed_0031_registry_status",
    "discovery": "0001_squashed_0020_chats",
    "marketplace": "0001_squashed_0018_listing_icon",
}
TOO_OLD = (
    "This database was made by a Pegboard from before 0.2.0, and this version cannot read it. "
    "Nothing was changed. Run `manage.py export` with that version, start this one with an empty "
    "PEGBOARD_DATA_DIR (or another DATABASE_URL), and `manage.py apply` the exported file."
)


class Command(migrate.Command):
    help = migrate.Command.help

    def handle(self, *args: Any, **options: Any) -> Any:
        if connections[options["database"]].in_atomic_block:  # the caller's timeouts apply
            return super().handle(*args, **options)
        with as_owner(options["database"]):
            return self._migrate(*args, **options)

    def _migrate(self, *args: Any, **options: Any) -> Any:
        for tries_left in reversed(range(_TRIES)):
            connection = connections[options["database"]]
            connection.close()
            try:
                if not is_pooled(options["database"]):
                    self._limit_waiting(connection)
                return self._migrate_and_grant(*args, **options)
            except OperationalError as problem:
                if not tries_left or not isinstance(problem.__cause__, LockNotAvailable):
                    raise
                self.stderr.write("A table is in use; trying again.")
                time.sleep(_PAUSE_SECONDS)
            finally:
                connection.close()  # the timeout must not outlive the migration
        return None

    def _limit_waiting(self, connection: BaseDatabaseWrapper) -> None:
        # Behind a pooler, this setting would stay with a connection that other clients use.
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {_LOCK_MILLISECONDS}")

    def _migrate_and_grant(self, *args: Any, **options: Any) -> Any:
        if is_from_before_squashing(connections[options["database"]]):
            raise CommandError(TOO_OLD)
        result = super().handle(*args, **options)
        if not (options["plan"] or options["check_unapplied"]):
            grant_rights(options["database"])
        return result


def is_from_before_squashing(connection: BaseDatabaseWrapper) -> bool:
    """Return whether an app's tables were made by steps that its first migration replaced."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    apps = {app for app, _ in applied} & FIRST_MIGRATIONS.keys()
    return any((app, FIRST_MIGRATIONS[app]) not in applied for app in apps)
