"""Tools of a caller that Pegboard runs: those of MCP servers, its built-in ones, and skills.

`/mcp` lists all of them while they are few. Beyond that it lists those that are part of everything,
and those that this person and their groups called until last midnight: no request changes the list.
Skills are files as well, by the Skills extension of MCP (SEP-2640).
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, time, timedelta
from hashlib import sha256
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone
from mcp_types.jsonrpc import INVALID_PARAMS

from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import attach_readiness, read_usable
from catalog.capabilities.catalog_queries import list_runnable
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration
from catalog.querysets import CapabilityQuerySet
from catalog.readiness.obstacles import BUILT_IN_TOOLS
from discovery.calls.server_requests.forwarding import RequestFailedError
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


SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
SKILL_METHODS = ("skills/list", "skills/get")
SKILL_START, _FILE = "skill://pegboard/", "SKILL.md"
SKILLS_OF_PAGE = 50
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1_024  # of the Agent Skills specification
# Further fields of the specification, by the keys that a skill's annotations have.
_FIELDS = {"license": "license", "compatibility": "compatibility", "metadata": "metadata"}


class SkillFile(NamedTuple):
    """A skill as the one file of its folder: its name is the last part of the folder's path."""

    row: Capability

    @property
    def name(self) -> str:
        """Return the skill's name as the specification has names."""
        plain = _NOT_IN_NAMES.sub("-", self.row.full_name.lower()).strip("-")
        return plain[:_LONGEST_NAME].strip("-") or "skill"

    @property
    def uri(self) -> str:
        """Return the address of its file, of which no other skill has the same."""
        return f"{SKILL_START}{self.row.full_name}/{self.name}/{_FILE}"

    @property
    def front_matter(self) -> JSONObject:
        """Return the fields above its instructions. What grants it tools is no server's to say."""
        description = self.row.description or self.row.display_name
        fields: JSONObject = {"name": self.name, "description": description[:_LONGEST_DESCRIPTION]}
        for key, field in _FIELDS.items():
            value = self.row.annotations.get(key)
            if isinstance(value, dict if field == "metadata" else str) and value:
                fields[field] = value
        return fields

    @property
    def text(self) -> str:
        """Return its file; a value of JSON is one of YAML, too."""
        fields = self.front_matter.items()
        lines = [f"{key}: {write_json(value, ensure_ascii=False)}" for key, value in fields]
        return "\n".join(("---", *lines, "---", "", self.row.content.strip(), ""))

    @property
    def entry(self) -> JSONObject:
        """Return it with its files, of which there is this one, by digest and size."""
        body = self.text.encode()
        digest = f"sha256:{sha256(body).hexdigest()}"
        resources = [{"uri": self.uri, "digest": digest, "size": len(body)}]
        return {"uri": self.uri, "frontmatter": self.front_matter, "resources": resources}


class SkillFiles:
    """Skills that a caller may use."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def has_any(self) -> bool:
        """Return True if there is one."""
        return self._usable(Capability.objects.all()).exists()

    def page(self, cursor: str) -> JSONObject:
        """Return a page of them. Raises RequestFailedError for a cursor that is none."""
        try:
            after = urlsafe_b64decode(cursor).decode()
        except ValueError:
            problem = "cursor: it is not one of ours."
            raise RequestFailedError({"code": INVALID_PARAMS, "message": problem}) from None
        skills = self._usable(Capability.objects.filter(full_name__gt=after)).order_by("full_name")
        rows = list(skills[: SKILLS_OF_PAGE + 1])
        page: JSONObject = {"skills": [SkillFile(row).entry for row in rows[:SKILLS_OF_PAGE]]}
        if len(rows) > SKILLS_OF_PAGE:
            last = rows[SKILLS_OF_PAGE - 1].full_name
            page["nextCursor"] = urlsafe_b64encode(last.encode()).decode()
        return page

    def find(self, uri: str) -> SkillFile:
        """Return the skill whose file this is. Raises RequestFailedError."""
        full_name = uri.removeprefix(SKILL_START).partition("/")[0]
        among = Capability.objects.filter(full_name=full_name)
        skill = next((SkillFile(row) for row in self._usable(among)), None)
        if skill is None or skill.uri != uri:
            missing = f"Resource not found: {uri[:300]}"
            raise RequestFailedError({"code": INVALID_PARAMS, "message": missing})
        return skill

    def _usable(self, among: CapabilityQuerySet) -> CapabilityQuerySet:
        of_kind = among.filter(kind=Capability.Kind.SKILL)
        return Capability.objects.usable_by(self._caller, among=of_kind)
