"""Chat applications as admins keep them: creating, changing and deleting them, with their keys.

Every change is compared with what the actor may do, and recorded. A key of an application changes
none: it would else lift its own limits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import revoke_key
from acl.keys.listing import usable_keys
from acl.models import ApiKey, Application
from acl.models.application import LONGEST_NAME
from acl.platform.answer_model import FieldRefused
from acl.rights.delegation import Actor, hold_credential
from acl.rights.delegation.authority import KeyHolder
from acl.visible_text.pieces import check_plain_name
from catalog.models import Integration
from discovery.answer.formats.registry import FORMATS, NO_TOOLS
from discovery.answer.modes import WANTED_MODES
from discovery.models.turn import POLICIES

MOST_APPLICATIONS = 200
LIMITS = ("calls_a_minute", "calls_a_day", "tokens_a_day", "cpu_a_minute")
LARGEST_LIMIT = 2**31 - 1
SMALLEST_WINDOW, LARGEST_WINDOW = 1_000, 100_000_000
NO_INTEGRATION = 0  # no row has this key: with it alone an application reaches nothing
# Fields of requests that an application may set for itself, with what each may be.
CHOICES: dict[str, tuple[str, ...]] = {
    "mode": WANTED_MODES,
    "format": (*FORMATS, NO_TOOLS),
    "failure_policy": POLICIES,
}


class ApplicationRefused(FieldRefused):
    """An application cannot be as it was asked for; `field` is what stands in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationFields:
    """Columns of an application, as an admin sets them.

    Without `all_integrations`, no integrations mean all.
    """

    name: str
    description: str = ""
    group: Group | None = None
    defaults: Mapping[str, Any]
    integrations: tuple[Integration, ...] = ()
    all_integrations: bool | None = None
    calls_a_minute: int | None = None
    calls_a_day: int | None = None
    tokens_a_day: int | None = None
    cpu_a_minute: int | None = None
    alert_below: float | None = None


def list_applications() -> QuerySet[Application]:
    """Return all applications by name, each with its `key_count` of keys that were not revoked."""
    working = Count("keys", filter=Q(keys__revoked_at=None))
    rows = Application.objects.select_related("group").annotate(key_count=working)
    return rows.order_by("name", "pk")


def keys_without_application() -> QuerySet[ApiKey]:
    """Return the usable keys that belong to no application yet."""
    return usable_keys().filter(application=None)


def integrations_of(applications: Iterable[Application]) -> dict[int, str]:
    """Return the names of the integrations that some applications may reach, by id. What was
    deleted has none."""
    keys = {key for application in applications for key in application.integrations}
    rows = Integration.objects.filter(pk__in=keys).order_by("title", "pk")
    return dict(rows.values_list("pk", "slug"))


@transaction.atomic
def create_application(*, by: Actor, fields: ApplicationFields) -> Application:
    """Create an application. Raises ApplicationRefused."""
    _hold(by)
    if Application.objects.count() >= MOST_APPLICATIONS:
        raise ApplicationRefused(
            "name", _("There are %(most)s applications already.") % {"most": MOST_APPLICATIONS}
        )
    application = Application()
    _fill(application, fields)
    application.save(force_insert=True)
    record(
        by=by, action="application.created", target=application.name, details=_facts(application)
    )
    return application


@transaction.atomic
def change_application(
    *, by: Actor, application: Application, fields: ApplicationFields
) -> Application:
    """Change an application; nothing is recorded where nothing differs. Raises
    ApplicationRefused."""
    _hold(by)
    locked = Application.objects.select_for_update(no_key=True, of=["self"])
    row = locked.select_related("group").get(pk=application.pk)
    before = {"name": row.name, **_facts(row)}
    _fill(row, fields)
    after = {"name": row.name, **_facts(row)}
    changed = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
    if changed:
        row.save()
        record(by=by, action="application.changed", target=str(before["name"]), details=changed)
    return row


@transaction.atomic
def delete_application(*, by: Actor, application: Application) -> int:
    """Delete an application and revoke its keys, which could do more without it; return how many.

    What waits of it is withdrawn with its keys.
    """
    _hold(by)
    row = Application.objects.select_for_update().get(pk=application.pk)
    keys = list(ApiKey.objects.filter(application=row, revoked_at=None).order_by("pk"))
    for key in keys:
        revoke_key(by=by, key=key)
    row.delete()
    details = {"revoked_keys": [key.prefix for key in keys]}
    record(by=by, action="application.deleted", target=application.name, details=details)
    return len(keys)


@transaction.atomic
def assign_key(*, by: Actor, key: ApiKey, application: Application | None) -> bool:
    """Put a key into an application, or take it out of one; return False if it is there already.

    A key that a connected client has by OAuth is a person's own and belongs to none.
    """
    _hold(by)
    row = ApiKey.objects.select_for_update(no_key=True, of=["self"]).filter(
        pk=key.pk, revoked_at=None, connection=None
    )
    locked = row.select_related("application").first()
    if locked is None:
        raise ApplicationRefused("key", _("This key has been revoked."))
    if locked.application == application:
        return False
    before = locked.application.name if locked.application else None
    ApiKey.objects.filter(pk=locked.pk).update(application=application)
    details = {"before": before, "after": application.name if application else None}
    record(by=by, action="application.key", target=str(locked), details=details)
    return True


def check_defaults(defaults: Mapping[str, Any]) -> None:
    """Raise ApplicationRefused for a field that no request has, or a value that none takes."""
    for name, value in defaults.items():
        if name in CHOICES:
            is_right = value in CHOICES[name]
        elif name == "client_executes":
            is_right = isinstance(value, bool)
        elif name == "context_window":
            is_right = type(value) is int and SMALLEST_WINDOW <= value <= LARGEST_WINDOW
        else:
            raise ApplicationRefused(
                "defaults", _("%(name)s is no default of an application.") % {"name": name}
            )
        if not is_right:
            raise ApplicationRefused(
                "defaults", _("%(value)s is no value of %(name)s.") % {"value": value, "name": name}
            )


def _hold(by: Actor) -> None:
    if isinstance(by, KeyHolder) and by.application is not None:
        raise ApplicationRefused(
            "key", _("A key of an application changes no application. Use another admin key.")
        )
    hold_credential(by)


def _fill(application: Application, fields: ApplicationFields) -> None:
    """Set the columns, after the checks."""
    name = fields.name.strip()
    try:
        check_plain_name(name)
    except ValidationError as problem:
        raise ApplicationRefused("name", " ".join(problem.messages)) from problem
    if not 0 < len(name) <= LONGEST_NAME:
        raise ApplicationRefused(
            "name", _("A name has 1 to %(most)s characters.") % {"most": LONGEST_NAME}
        )
    others = Application.objects.exclude(pk=application.pk)
    if others.filter(name__iexact=name).exists():
        raise ApplicationRefused("name", _("There is an application of this name already."))
    for limit in LIMITS:
        value = getattr(fields, limit)
        if value is not None and not 0 < value <= LARGEST_LIMIT:
            raise ApplicationRefused(limit, _("A limit is at least 1. Leave it empty for none."))
    if fields.alert_below is not None and not 0 <= fields.alert_below <= 1:
        raise ApplicationRefused("alert_below", _("A rate is from 0 to 1."))
    check_defaults(fields.defaults)
    application.name, application.description = name, fields.description.strip()
    application.group, application.defaults = fields.group, dict(fields.defaults)
    chosen = sorted(row.pk for row in fields.integrations)
    reaches_all = not chosen if fields.all_integrations is None else fields.all_integrations
    application.integrations = [] if reaches_all else chosen or [NO_INTEGRATION]
    for limit in (*LIMITS, "alert_below"):
        setattr(application, limit, getattr(fields, limit))


def _facts(application: Application) -> dict[str, Any]:
    """Return what the audit log says of an application, but for its name."""
    names = integrations_of([application])
    return {
        "description": application.description,
        "group": application.group.name if application.group else None,
        "defaults": application.defaults,
        "integrations": [names.get(key, f"#{key}") for key in application.integrations],
        **{name: getattr(application, name) for name in (*LIMITS, "alert_below")},
    }
