"""`manage.py broker`: the process that alone has the encryption keys."""

import ctypes
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from catalog.servers.secrets.encryption_keys import (
    SecretUnavailableError,
    opening_keys,
    publish_sealing_key,
)
from marketplace.operate.secret_broker import serve

_PR_SET_DUMPABLE = 4


class Command(BaseCommand):
    help = "Open secrets for the process that keeps connections, at the socket PEGBOARD_BROKER."
    requires_system_checks: list[str] = []  # it starts before the database is migrated

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--supervisor", type=int, help="answer only processes started by this")
        parser.add_argument(
            "--publish", action="store_true", help="only write PEGBOARD_SEALING_KEY, and end"
        )

    def handle(
        self, *args: Any, supervisor: int | None, publish: bool = False, **options: Any
    ) -> None:
        name = "PEGBOARD_SEALING_KEY" if publish else "PEGBOARD_BROKER"
        if not getattr(settings, name):
            raise CommandError(f"Set {name} to a path: the broker's socket, or its public key.")
        _hide_memory()
        try:
            newest = opening_keys()[0]
        except SecretUnavailableError as problem:
            raise CommandError(str(problem)) from problem
        if settings.PEGBOARD_SEALING_KEY:
            publish_sealing_key(Path(settings.PEGBOARD_SEALING_KEY), newest)
        if not publish:
            # As the first process of a container it gets no signal that it does not handle.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            serve(Path(settings.PEGBOARD_BROKER), supervisor=supervisor)


def _hide_memory() -> None:
    """Keep other processes of the same user out of our memory and environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
