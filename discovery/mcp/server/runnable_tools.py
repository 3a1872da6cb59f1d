"""Tools of a caller that Pegboard runs: those of MCP servers, its built-in ones, and skills.

A connection that cannot search lists all of them while they are few. Beyond that it lists those
that its last search found and those that this person and their groups call.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import attach_readiness, read_usable
from catalog.capabilities.catalog_queries import list_runnable
from catalog.models import Capability, Integration
from catalog.querysets import CapabilityQuerySet
from catalog.readiness.obstacles import BUILT_IN_TOOLS
from discovery.models import Call

USED_DAYS = 30
_NOT_LISTED = ("content", "examples", "source_ref", "effect_evidence", "declared_edges")
_BY_SERVER = Q(integration__kind__in=Integration.CALLED) & ~Q(integration__transport="")
_BY_PEGBOARD = Q(integration__kind=Integration.Kind.BUILTIN, full_name__in=BUILT_IN_TOOLS)


def runnable_tools(caller: Caller, among: CapabilityQuerySet | None = None) -> CapabilityQuerySet:
    """Return the caller's tools whose calls end here, not in the application that asked."""
    usable = Capability.objects.usable_by(caller, among=among)
    return usable.filter(_BY_SERVER | _BY_PEGBOARD | Q(kind=Capability.Kind.SKILL))


def tools_of_integration(caller: Caller, slug: str) -> list[Capability]:
    """Return the integration's runnable tools, by the names that its server gives them."""
    tools = runnable_tools(caller, Capability.objects.filter(integration__slug=slug))
    rows = tools.order_by("action", "pk").select_related("integration").defer(*_NOT_LISTED)
    return attach_readiness(caller, list(rows))


def listed_tools(caller: Caller, last_names: Sequence[str]) -> tuple[list[Capability], bool]:
    """Return the tools to list, by full name, and whether those are all.

    Tools that cannot be called at the moment are left out. `last_names` are the last search's.
    """
    runnable, most = list_runnable(caller=caller), settings.PEGBOARD_MCP_TOOLS
    are_all = len(runnable) <= most
    usable = {entry.full_name for entry in runnable}
    names = [name for name in last_names[:most] if name in usable]
    names = list(usable) if are_all else names + _used_names(caller, usable, most)
    rows = read_usable(caller, names=names)
    if not are_all:
        rows.sort(key=lambda row: names.index(row.full_name))
    offered = [row for row in rows if row.readiness.is_offered][:most]  # type: ignore[attr-defined]
    return sorted(offered, key=lambda row: row.full_name), are_all


def _used_names(caller: Caller, usable: Collection[str], most: int) -> list[str]:
    """Return the names called lately: first the person's own, then those of their groups."""
    since = timezone.now() - timedelta(days=USED_DAYS)
    by_person = Q(user_id=caller.user_id)
    called = (
        Call.objects.filter(by_person | Q(group_id__in=caller.group_ids), created_at__gt=since)
        .filter(capability__isnull=False)
        .values_list("full_name")
        .annotate(mine=Count("pk", filter=by_person), all=Count("pk"))
        .order_by("-mine", "-all", "full_name")
    )
    return [name for name, *_ in called if name in usable][:most]
