"""Powers of the application's role beyond its work, where an operator has not set roles apart."""

from django.db import connection

_POWERS = """
SELECT current_user, role.rolsuper, role.rolcreaterole, coalesce(entry.owned, false)
FROM pg_roles role LEFT JOIN LATERAL (
  SELECT pg_has_role(relowner, 'MEMBER') AS owned FROM pg_class
  WHERE relname = 'acl_auditentry' AND relnamespace = 'public'::regnamespace
) entry ON true
WHERE role.rolname = current_user
"""
REMEDY = "Set roles apart with `manage.py prepare_database` (docs/running.md)."


def powers_of_the_application() -> list[str]:
    """Return, as sentences, what an intruder in the application could do to the database."""
    with connection.cursor() as cursor:
        cursor.execute(_POWERS)
        role, superuser, makes_roles, owns_log = cursor.fetchone()
    if superuser:
        return [f"the role {role} is a superuser: it can change every table, the audit log too"]
    told = []
    if makes_roles:
        told.append(f"the role {role} can make other roles")
    if owns_log:
        told.append(f"the role {role} owns the audit log, and can switch off what protects it")
    return told
