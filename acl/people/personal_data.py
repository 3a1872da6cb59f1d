"""A person's data: all of it as JSON, and its removal, by rules over the tables' own declarations.

A row that belongs to a person goes with them, unless its model says in `erased` which columns are
emptied instead: then it stays as a figure, of an account without a name. Models whose texts name
people say so in `names_people`. So a new table is erased before anybody has thought of it.
"""

import re
from collections.abc import Iterator
from typing import Any

from allauth.account.models import EmailAddress
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import Invitation
from acl.people.people import PeopleRefused, check_power, end_sessions, groups_of
from acl.rights.delegation import Actor, person_behind

_HIDDEN = re.compile("password|digest|secret|token|sealed|^data$|session_key")
_SIGN_INS = (AccessAttempt, AccessFailureLog, AccessLog)


@transaction.atomic
def export_person(*, by: Actor, person: User) -> dict[str, list[dict[str, Any]]]:
    """Return all rows about a person by table, without what is secret; it is recorded."""
    check_power(by, person)
    rows: dict[str, list[dict[str, Any]]] = {"auth_user": _shown(User.objects.filter(pk=person.pk))}
    for model, column, _deletes in _references():
        found_rows = _shown(model._base_manager.filter(**{column: person}))
        table_rows = rows.setdefault(model._meta.db_table, [])
        table_rows += [row for row in found_rows if row not in table_rows]
    names = Q(username__in=_names_of(person))
    rows |= {model._meta.db_table: _shown(model.objects.filter(names)) for model in _SIGN_INS}
    groups = groups_of(person)
    record(by=by, action="person.exported", target=person.username, groups=groups)
    return {table: of_person for table, of_person in rows.items() if of_person}


@transaction.atomic
def erase_person(*, by: Actor, person: User) -> None:
    """Remove a person's name, addresses, messages and what is theirs.

    Turns, calls and tokens go on counting. The audit log keeps the names that it has: it is
    append-only, and goes to an archive.
    """
    if (actor := person_behind(by)) is not None and actor.pk == person.pk:
        raise PeopleRefused(_("You cannot remove yourself. Ask another admin."))
    check_power(by, person)
    end_sessions(person)
    names, groups, instead = _names_of(person), groups_of(person), f"removed-{person.pk}"
    Invitation.objects.filter(Q(person=person) | Q(email__in=names)).delete()
    for model in _SIGN_INS:
        model.objects.filter(username__in=names).delete()
    for model, column, deletes in _references():
        if deletes and not hasattr(model, "erased"):
            model._base_manager.filter(**{column: person}).delete()
    for model in apps.get_models():
        for lookup, values in getattr(model, "erased", {}).items():
            if values:
                keys = model._base_manager.filter(**{lookup: person}).values("pk")
                model._base_manager.filter(pk__in=keys).update(**values)
    replace_names(names, instead)
    person.username, person.first_name, person.last_name, person.email = instead, "", "", ""
    person.is_active = person.is_staff = person.is_superuser = False
    person.last_login = None
    person.password = UNUSABLE_PASSWORD_PREFIX
    person.save()
    with connection.cursor() as cursor:
        cursor.execute("SELECT acl_forget_name(%s, %s)", [person.pk, instead])
    record(by=by, action="person.erased", target=instead, groups=groups)


def _references() -> Iterator[tuple[type[models.Model], str, bool]]:
    """Yield each column that refers to people, and whether its row would go with the person."""
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.fields:
            if field.remote_field is not None and field.related_model is User:
                deletes = field.remote_field.on_delete is models.CASCADE
                yield model, field.name, deletes


def _shown(rows: "models.QuerySet[Any]") -> list[dict[str, Any]]:
    names = [
        field.attname
        for field in rows.model._meta.concrete_fields
        if not isinstance(field, models.BinaryField) and not _HIDDEN.search(field.name)
    ]
    return list(rows.order_by("pk").values(*names))


def _names_of(person: User) -> list[str]:
    """Return the names and addresses that are the person's alone."""
    addresses = EmailAddress.objects.filter(user=person).values_list("email", flat=True)
    full_name = person.get_full_name() if person.first_name and person.last_name else ""
    names = {person.username, person.email, full_name, *addresses}
    return sorted(filter(None, names), key=len, reverse=True)


def replace_names(names: list[str], instead: str) -> None:
    """Put another name where texts and JSON name the person, as whole words."""
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
    for model in apps.get_models():
        for column in getattr(model, "names_people", ()):
            field = model._meta.get_field(column)
            statement = _MENTION.format(
                table=model._meta.db_table, column=column, type=field.db_type(connection)
            )
            with connection.cursor() as cursor:
                cursor.execute(statement, {"pattern": pattern, "instead": instead})


_MENTION = """
UPDATE {table} SET
  "{column}" = regexp_replace("{column}"::text, %(pattern)s, %(instead)s, 'g')::{type}
WHERE "{column}"::text ~ %(pattern)s
"""
