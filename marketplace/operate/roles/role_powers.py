"""Rights of the application's role that it does not need, if an operator set no roles apart.

`manage.py check --deploy` warns of each.
"""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, connection

_POWERS = """
SELECT current_user, role.rolsuper, role.rolcreaterole, coalesce(entry.owned, false)
FROM pg_roles role LEFT JOIN LATERAL (
  SELECT pg_has_role(relowner, 'MEMBER') AS owned FROM pg_class
  WHERE relname = 'acl_auditentry' AND relnamespace = 'public'::regnamespace
) entry ON true
WHERE role.rolname = current_user
"""
REMEDY = "Use separate roles: see `manage.py prepare_database` in docs/running.md."


def list_excess_rights() -> list[str]:
    """Describe as sentences what an intruder in the application could do to the database."""
    with connection.cursor() as cursor:
        cursor.execute(_POWERS)
        role, superuser, makes_roles, owns_log = cursor.fetchone()
    if superuser:
        return [f"the role {role} is a superuser: it can change every table, the audit log too"]
    rights = []
    if makes_roles:
        rights.append(f"the role {role} can create other roles")
    if owns_log:
        rights.append(f"the role {role} owns the audit log, and can disable its protection")
    return rights


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
