"""Pegboard's commands: `manage.py`, `pegboard` or `python -m marketplace`."""

import os
import sys

# Started by Pegboard itself; every other command is entered by someone.
SERVICES = frozenset({"up", "set_up", "watch_capabilities"})


def main() -> None:
    """Run the command that the arguments name; end with a sentence where the database is down."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from acl import actor

    if sys.argv[1:2] == ["up"]:
        return _supervise()
    if sys.argv[1:] == ["--version"]:
        from django.conf import settings

        sys.stdout.write(f"Pegboard {settings.PEGBOARD_VERSION}\n")
        return None
    if len(sys.argv) > 1 and sys.argv[1] not in SERVICES:
        actor.note_operator()
    try:
        execute_from_command_line(sys.argv)
    except OperationalError as problem:
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"The database does not answer; is Pegboard running? {problem}".strip())


def _supervise() -> None:
    """Run `up` without the applications, whose models it does not use.

    They would take half of its start, and 80 MB for as long as it runs.
    """
    from django.utils import translation

    from marketplace.management.commands.up import Command

    translation.deactivate_all()  # catalogues are those of applications
    Command().run_from_argv(sys.argv)


if __name__ == "__main__":
    main()
