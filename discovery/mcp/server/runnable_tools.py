"""Tools of a caller that Pegboard runs: those of MCP servers, its built-in ones, and skills.

`/mcp` lists all of them while they are few. Beyond that it lists those that are part of everything,
and those that this person and their groups called until last midnight: no request changes the list.
"""

from datetime import UTC, datetime, time, timedelta

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


def runnable_tools(
    caller: Caller, among: CapabilityQuerySet | None = None, *, apps: bool = False
) -> CapabilityQuerySet:
    """Return the caller's tools whose calls end here, not in the application that asked.

    `apps` adds those for a server's own app, for clients that show apps.
    """
    usable = Capability.objects.usable_by(caller, among=among, apps=apps)
    return usable.filter(_BY_SERVER | _BY_PEGBOARD | Q(kind=Capability.Kind.SKILL))


def tools_of_integration(caller: Caller, slug: str, *, apps: bool) -> list[Capability]:
    """Return the integration's runnable tools, by the names that its server gives them."""
    tools = runnable_tools(caller, Capability.objects.filter(integration__slug=slug), apps=apps)
    rows = tools.order_by("action", "pk").select_related("integration").defer(*_NOT_LISTED)
    return attach_readiness(caller, list(rows), apps=apps)


def tools_of_apps(caller: Caller) -> list[Capability]:
    """Return the caller's tools for servers' own apps, which no model is shown."""
    of_apps = Capability.objects.filter(ai_access=Capability.AIAccess.APP)
    tools = runnable_tools(caller, of_apps, apps=True).order_by("full_name")
    rows = tools.select_related("integration").defer(*_NOT_LISTED)[: settings.PEGBOARD_MCP_TOOLS]
    offered = attach_readiness(caller, list(rows), apps=True)
    return [row for row in offered if row.readiness.is_offered]  # type: ignore[attr-defined]


def only_tool_of(caller: Caller, action: str, *, apps: bool) -> str | None:
    """Return the full name of the caller's only tool that its server calls so, or None."""
    tools = runnable_tools(caller, Capability.objects.filter(action=action), apps=apps)
    full_names = list(tools.order_by().values_list("full_name", flat=True)[:2])
    return full_names[0] if len(full_names) == 1 else None


def listed_tools(caller: Caller) -> list[Capability]:
    """Return the tools to list, by full name, without those that cannot be called at the moment.

    The set depends on rights, servers and the day alone: since 2026-07-28 a list must not vary by
    connection, nor by what was asked on it before.
    """
    runnable, most = list_runnable(caller=caller), settings.PEGBOARD_MCP_TOOLS
    names = {entry.full_name: entry.core or entry.pinned for entry in runnable}
    if len(names) > most:
        always = sorted(name for name, is_always in names.items() if is_always)
        used = [name for name in _used_names(caller) if name in names]
        names = dict.fromkeys([*always, *used][:most], False)
    offered = [
        row
        for row in read_usable(caller, names=list(names))
        if row.readiness.is_offered  # type: ignore[attr-defined]
    ]
    return sorted(offered, key=lambda row: row.full_name)


def _used_names(caller: Caller) -> list[str]:
    """Return the names called until midnight: first the person's own, then those of their groups.

    The calls of a day count from the next one on, so that none changes the list that it came from.
    """
    today = datetime.combine(timezone.now().astimezone(UTC), time.min, UTC)
    days = (today - timedelta(days=USED_DAYS), today)
    by_person = Q(user_id=caller.user_id)
    called = (
        Call.objects.filter(by_person | Q(group_id__in=caller.group_ids))
        .filter(capability__isnull=False, created_at__gte=days[0], created_at__lt=days[1])
        .values_list("full_name")
        .annotate(mine=Count("pk", filter=by_person), all=Count("pk"))
        .order_by("-mine", "-all", "full_name")
    )
    return [name for name, *_ in called]
