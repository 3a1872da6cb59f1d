"""`manage.py check --deploy`: warn if the application's database role has too many rights."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError

from marketplace.operate.roles.role_powers import REMEDY, list_excess_rights


@register(Tags.database, deploy=True)
def check_database_role(
    app_configs: Any, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Return a warning for each right of the application's role that its work does not need."""
    try:
        powers = list_excess_rights()
    except DatabaseError:
        return []  # other checks report an unreachable database
    return [
        Warning(f"In the database, {power}.", hint=REMEDY, id="pegboard.W001") for power in powers
    ]
