"""`manage.py set_up`: prepare files and database, for `up` and for the container."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from catalog.embedding.configured_embedder import obvious_embedder_problem
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.multilingual_model import is_prepared_multilingual, prepare_multilingual
from catalog.embedding.shipped_model import is_prepared, prepare_float32_model, prepare_model
from marketplace.management.commands.migrate import TOO_OLD, is_from_before_squashing
from marketplace.operate.embedded.data_folder import CannotRun
from marketplace.operate.embedded.first_setup import (
    check_database,
    collect_static_files,
    create_first_admin,
    fetch_weights,
    fill_empty_catalogue,
)
from marketplace.operate.embedded.supervisor import Supervisor
from marketplace.operate.embedded.text_catalogues import CATALOGUES, compile_catalogues
from marketplace.operate.roles.grants import REMEDY, list_excess_rights
from marketplace.operate.upgrade_plan import describe_upgrade, plan_upgrade


class Command(BaseCommand):
    help = "Prepare files and database. A new database gets the starter collection and an admin."
    requires_system_checks: list[str] = []  # the tables may not exist yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=["files", "database"], help="run only this half")
        parser.add_argument(
            "--check",
            action="store_true",
            help="change nothing: say which migrations would run, and exit with 1 if some would",
        )

    def handle(self, *args: Any, only: str | None, check: bool, **options: Any) -> None:
        supervisor = Supervisor(self._write)
        try:
            if check:
                sys.exit(_check(supervisor))
            if only != "files":
                check_database()  # before the files, which take seconds
            if only != "database":
                _prepare_files(supervisor)
            if only != "files":
                _prepare_database(supervisor)
        except CannotRun as problem:
            sys.exit(f"Pegboard cannot run: {problem}")

    def _write(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()


def _check(supervisor: Supervisor) -> int:
    """Say what an upgrade would do; return 1 if there is something to do."""
    check_database()
    if is_from_before_squashing(connection):
        raise CannotRun(TOO_OLD)
    plan = plan_upgrade()
    for line in describe_upgrade(plan):
        supervisor.say(line)
    return 1 if plan else 0


def _prepare_files(supervisor: Supervisor) -> None:
    root, trained = settings.PEGBOARD_MODEL_DIR, settings.PEGBOARD_TRAINED_ENCODER
    if not is_prepared(root, trained=trained):
        with supervisor.step("Embedding model"):
            fetch_weights(root, settings.PEGBOARD_MODEL_WEIGHTS)
            prepare_model(root, trained=trained)
    if settings.PEGBOARD_MULTILINGUAL and not is_prepared_multilingual(root):
        _prepare_languages(supervisor, root)
    if problem := obvious_embedder_problem():
        supervisor.say(f"Note: the chosen embedding model is not available. {problem}")
    elif settings.PEGBOARD_EMBEDDER == "sentence-transformers":
        prepare_float32_model(root, trained=trained)
    compile_catalogues(CATALOGUES)
    with supervisor.step("Static files"):
        collect_static_files(Path(settings.PEGBOARD_DATA_DIR) / "static.stamp")


def _prepare_languages(supervisor: Supervisor, root: Path) -> None:
    """Prepare the model for other languages. Not every machine can have its package."""
    try:
        prepare_multilingual(root)
    except EmbedderUnavailable as problem:
        supervisor.say(f"Note: messages are read as English only. {problem}")


def _prepare_database(supervisor: Supervisor) -> None:
    if MigrationRecorder(connection).applied_migrations() and (plan := plan_upgrade()):
        for line in describe_upgrade(plan):
            supervisor.say(line)
    with supervisor.step("Database tables"):
        call_command("migrate", interactive=False, verbosity=0)
    for power in list_excess_rights():
        supervisor.say(f"Note: in the database, {power}. {REMEDY}")
    with supervisor.step("Starter collection"):
        fill_empty_catalogue()
    password = create_first_admin()
    if password == "":
        supervisor.say("The first admin is admin with the password of PEGBOARD_ADMIN_PASSWORD.")
    elif password:
        supervisor.say(f"The first admin is admin with the password {password} (shown only now).")
