"""`manage.py check --deploy`: whether the database still trusts the application with everything."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError

from marketplace.operate.roles.role_powers import REMEDY, powers_of_the_application


@register(Tags.database, deploy=True)
def check_database_role(
    app_configs: Any, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """A warning for each power that the application's role has beyond its work."""
    try:
        powers = powers_of_the_application()
    except DatabaseError:
        return []  # that it does not answer is told by others
    return [
        Warning(f"In the database, {power}.", hint=REMEDY, id="pegboard.W001") for power in powers
    ]
