"""`manage.py prepare_database`: create or print the roles for your own Postgres server."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import dj_database_url
import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from marketplace.operate.roles.names import TEMPLATE
from marketplace.operate.roles.preparation import (
    LoginRole,
    Statement,
    create_database_statement,
    database_statements,
    format_script,
    prepare_server,
    server_statements,
)

_EXAMPLE = (
    "postgresql://pegboard_app:…@host/pegboard and postgresql://pegboard_owner:…@host/pegboard"
)


class Command(BaseCommand):
    help = (
        "Create the roles of DATABASE_URL and DATABASE_OWNER_URL and their database, as the "
        "superuser of DATABASE_SUPERUSER_URL; existing tables change hands. Safe to repeat."
    )
    requires_system_checks: list[str] = []  # the roles may not exist yet
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--print",
            action="store_true",
            dest="only_print",
            help="print the SQL for psql instead of running it",
        )

    def handle(self, *args: Any, only_print: bool, **options: Any) -> None:
        app, name = _parse_role(settings.DATABASE_URL, "DATABASE_URL")
        owner, owners = _parse_role(settings.DATABASE_OWNER_URL, "DATABASE_OWNER_URL")
        if app.name == owner.name or name != owners:
            raise CommandError(
                "DATABASE_URL and DATABASE_OWNER_URL need two roles and one database, as in "
                f"{_EXAMPLE}."
            )
        if only_print:
            for line in format_script(list(_statements(app.name, owner.name, name))):
                self.stdout.write(line)
            self.stdout.write(f"\\password {app.name}\n\\password {owner.name}")
            return
        self._prepare(app, owner, name)

    def _prepare(self, app: LoginRole, owner: LoginRole, name: str) -> None:
        superuser = settings.DATABASE_SUPERUSER_URL
        if not superuser:
            raise CommandError("DATABASE_SUPERUSER_URL is not set: set it, or use --print.")
        if not (app.password and owner.password):
            raise CommandError("DATABASE_URL and DATABASE_OWNER_URL need passwords.")
        try:
            prepare_server(superuser, app=app, owner=owner, databases=[name])
        except psycopg.Error as problem:
            raise CommandError(f"The database could not be prepared: {problem}") from problem
        self.stdout.write(
            f"{owner.name} owns the database {name}, and {app.name} works with it. "
            "Run `manage.py migrate` next: it sets the rights on every table."
        )


def _statements(app: str, owner: str, name: str) -> Iterator[Statement]:
    yield from server_statements(app=app, owner=owner)
    yield create_database_statement(name, owner=owner)
    yield from database_statements(TEMPLATE, owner=owner)
    yield from database_statements(name, owner=owner)


def _parse_role(url: str, setting: str) -> tuple[LoginRole, str]:
    if not url:
        raise CommandError(f"{setting} is not set. Pegboard needs two roles, as in {_EXAMPLE}.")
    parts = dj_database_url.parse(url)
    return LoginRole(parts["USER"], parts["PASSWORD"]), parts["NAME"]
