"""A person's tools: what they may use, why, and what each tool lacks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Count, F
from django.utils.translation import gettext as _

from acl.platform.database_connections import columns_of, made, rows_of
from acl.platform.stored_texts import translate_stored
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.access.explanation import Explanation, ExplanationStep, explain_many
from catalog.models import Capability, Integration
from catalog.querysets import TABLES, CapabilityQuerySet
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import (
    COLUMNS,
    MendLink,
    Readiness,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    mend_link,
    readiness_from,
    tell_approvers,
)

# Grounds: the reasons why a caller may use a capability, addressed to them or to an admin.


@dataclass(frozen=True, slots=True)
class Ground:
    """A sentence in three parts, so that a page can emphasize the middle one."""

    before: str
    name: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.name}{self.after}"


def grounds_for(
    *, caller: Caller, capabilities: Sequence[Capability], to_themselves: bool = True
) -> dict[int, Ground]:
    """Return the grounds by capability key, with one statement; integrations must be loaded.

    `to_themselves` addresses the caller, otherwise an admin.
    """
    names = [capability.full_name for capability in capabilities]
    explained = explain_many(caller=caller, full_names=names)
    describe = _for_caller if to_themselves else _for_admin
    return {
        capability.pk: describe(explained.get(capability.full_name), capability)
        for capability in capabilities
    }


def _for_admin(explanation: Explanation | None, capability: Capability) -> Ground:
    step = explanation.ground if explanation else None
    names = {"target": step.target, "subject": step.subject} if step else {}
    match step:
        case None:  # revoked since the list was read
            return Ground(_("it was theirs a moment ago"))
        case ExplanationStep(kind="rule"):
            return _ground_of_rule(step)
        case ExplanationStep(kind="grant", subject_kind="user"):
            return Ground(_("%(target)s is granted to %(subject)s") % names)
        case ExplanationStep(kind="grant"):
            return Ground(_("%(target)s is granted to the group %(subject)s") % names)
        case ExplanationStep():
            return Ground(_("%(subject)s is open and %(target)s is not restricted") % names)


def _for_caller(explanation: Explanation | None, capability: Capability) -> Ground:
    step = explanation.ground if explanation else None
    title = capability.integration.title
    on_integration = step is not None and step.target_kind == "integration"
    match step:
        case None:
            return Ground(_("it was yours a moment ago"))
        case ExplanationStep(kind="rule"):
            return _ground_of_rule(step)
        case ExplanationStep(kind="grant", subject_kind="user"):
            if on_integration:
                return _emphasize(_("%(name)s is granted to you"), title)
            return Ground(_("it is granted to you"))
        case ExplanationStep(kind="grant"):
            if on_integration:
                return _emphasize(_("%(name)s is granted to your group"), title)
            return _emphasize(_("it is granted to your group %(name)s"), step.subject)
        case ExplanationStep():
            return _emphasize(_("your group %(name)s is open"), step.subject)


def _ground_of_rule(step: ExplanationStep) -> Ground:
    asks, allows = _("a rule in %(name)s makes it ask first"), _("a rule in %(name)s allows it")
    return _emphasize(asks if step.effect == "propose" else allows, step.space_name)


def _emphasize(message: str, name: str) -> Ground:
    """Split a message, which follows "because", around its `%(name)s`."""
    before, after = message.partition("%(name)s")[::2]
    return Ground(before, name, after)


# Readiness of a caller's tools, read in one statement with the rights.


@cache
def _readiness_sql(*, united: bool, among: bool, apps: bool) -> str:
    few = "asked (id) AS MATERIALIZED (SELECT unnest(%(only)s::bigint[])), " if among else ""
    return f"""
WITH RECURSIVE {few}{rights_sql(TABLES, united=united, among=among, apps=apps)}
SELECT c.id, {facts_sql(mode="usable.mode")}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id
"""  # noqa: S608 - the names of our own tables and columns


def load_readiness(
    caller: Caller,
    only: Iterable[int] | None = None,
    *,
    unavailable: bool = False,
    apps: bool = False,
) -> dict[int, ToolReadiness]:
    """Return the readiness of the caller's tools by primary key; `only` limits them."""
    parameters = {
        **rights_parameters(caller, unavailable=unavailable),
        **facts_parameters(),
        "only": list(only or ()),
    }
    statement = _readiness_sql(united=caller.is_united, among=only is not None, apps=apps)
    rows = rows_of(statement, parameters)
    readinesses = tell_approvers([readiness_from(values) for _, *values in rows], caller.user_id)
    return dict(zip((pk for pk, *_ in rows), readinesses, strict=True))


def row_columns() -> str:
    """Return the columns of a capability `c` and its integration `i`, as `row_from` expects."""
    return f"{columns_of(Capability, 'c')}, {columns_of(Integration, 'i')}"


def row_from(values: Sequence[Any]) -> Capability:
    """Return the capability with its integration from the values of `row_columns`."""
    end = len(Capability._meta.concrete_fields)
    capability = made(Capability, values[:end])
    capability.integration = made(Integration, values[end:])
    return capability


@cache
def _rows_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE asked (id) AS MATERIALIZED (
  SELECT id FROM catalog_capability WHERE full_name = ANY (%(names)s::text[])
  UNION SELECT unnest(%(keys)s::bigint[])
),
{rights_sql(TABLES, united=united, among=True)}
SELECT {facts_sql(mode="usable.mode")}, {row_columns()}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id
"""  # noqa: S608 - the names of our own tables and columns


def read_usable(
    caller: Caller, *, names: Sequence[str] = (), keys: Sequence[int] = ()
) -> list[Capability]:
    """Return the caller's capabilities of these names and keys, with `integration` and
    `readiness`."""
    parameters = {**rights_parameters(caller), **facts_parameters()}
    rows = rows_of(
        _rows_sql(united=caller.is_united), {**parameters, "names": list(names), "keys": list(keys)}
    )
    facts = len(COLUMNS)
    ready = tell_approvers([readiness_from(row[:facts]) for row in rows], caller.user_id)
    capabilities = [row_from(row[facts:]) for row in rows]
    for capability, readiness in zip(capabilities, ready, strict=True):
        capability.readiness = readiness  # type: ignore[attr-defined]
    return capabilities


def attach_readiness(
    caller: Caller,
    rows: Sequence[Capability],
    *,
    unavailable: bool = False,
    apps: bool = False,
) -> list[Capability]:
    """Give each row its `readiness`; leave out those that were lost since they were read."""
    if not rows:
        return []
    keys = [row.pk for row in rows]
    readiness_by_key = load_readiness(caller, keys, unavailable=unavailable, apps=apps)
    for row in rows:
        row.readiness = readiness_by_key.get(row.pk)  # type: ignore[attr-defined]
    return [row for row in rows if row.pk in readiness_by_key]


PAGE_SIZE = 50
MOST_ASIDE = 200
# Large columns that lists do not show.
_NOT_LISTED = ("input_schema", "output_schema", "content", "examples", "annotations", "source_ref")


@dataclass(frozen=True, slots=True)
class ToolFilters:
    """Filters of a person's tools; empty fields mean all."""

    words: str = ""
    category: str = ""
    kind: str = ""
    show: str = ""  # runs, asks, missing
    page: int = 1


@dataclass(frozen=True, slots=True)
class MyTool:
    """A usable capability, its ground, and what a call would do now."""

    capability: Capability
    ground: Ground
    readiness: ToolReadiness
    secrets: tuple[str, ...]

    @property
    def mend(self) -> MendLink | None:
        """Return the link that mends it, or None."""
        tool = self.capability
        return mend_link(
            self.readiness, integration=tool.integration.slug, full_name=tool.full_name
        )

    @property
    def problems(self) -> list[str]:
        """Return why a call would not be carried out now, in sentences."""
        if self.readiness.is_offered:
            return []
        detail = ""
        if self.readiness.obstacle is Obstacle.NOT_AVAILABLE:
            detail = translate_stored(self.capability.unavailable_reason)
        elif self.readiness.is_failing and self.capability.integration.health:
            detail = translate_stored(self.capability.integration.health)
        return [self.readiness.sentence, *([detail] if detail else [])]


@dataclass(frozen=True, slots=True)
class MyTools:
    """A page of tools. `categories` counts the matches of the other filters."""

    tools: tuple[MyTool, ...]
    categories: tuple[tuple[str, int], ...]
    count: int
    everywhere: int
    page: int
    pages: int
    # Those that only the application could carry out, while nobody says that it does.
    aside: tuple[Capability, ...] = ()


def list_my_tools(*, caller: Caller, filters: ToolFilters) -> MyTools:
    """Return a page of the caller's matching tools, by category and name."""
    everything = _filter_tools(caller, filters)
    matches = everything.claimed()
    aside = everything.claimed(claimed=False).in_category(filters.category)
    counts = matches.order_by("category").values_list("category").annotate(number=Count("pk"))
    categories = tuple(counts)
    everywhere = sum(number for _, number in categories)
    count = dict(categories).get(filters.category, 0) if filters.category else everywhere
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(max(1, filters.page), pages)
    start = (page - 1) * PAGE_SIZE
    rows = (
        matches.in_category(filters.category)
        .select_related("integration")
        .annotate(picture=F("integration__icon__image"))
        .defer(*_NOT_LISTED)
        .order_by("category", "display_name", "pk")[start : start + PAGE_SIZE]
    )
    listed_aside = aside.select_related("integration").defer(*_NOT_LISTED)
    return MyTools(
        _with_grounds(caller, list(rows)),
        categories,
        count,
        everywhere,
        page,
        pages,
        tuple(listed_aside.order_by("integration__title", "display_name", "pk")[:MOST_ASIDE]),
    )


def find_my_tool(*, caller: Caller, full_name: str) -> MyTool | None:
    """Return a tool of the caller; None if it does not exist or is not theirs."""
    # Unavailable tools are included: the page shows what they lack.
    tool = Capability.objects.filter(full_name=full_name)
    usable = Capability.objects.usable_by(caller, unavailable=True, among=tool)
    usable = usable.select_related("integration").annotate(picture=F("integration__icon__image"))
    tools = _with_grounds(caller, list(usable))
    return tools[0] if tools else None


def _filter_tools(caller: Caller, filters: ToolFilters) -> CapabilityQuerySet:
    matches = Capability.objects.usable_by(caller, unavailable=True)
    matches = matches.of_kind(filters.kind).mentioning(filters.words)
    if states := _SHOWN.get(filters.show):
        readinesses = load_readiness(caller, unavailable=True).items()
        matches = matches.filter(pk__in=[pk for pk, ready in readinesses if ready.state in states])
    return matches


_SHOWN = {
    "runs": {Readiness.READY, Readiness.DESCRIBED_ONLY},
    "asks": {Readiness.ASKS_FIRST},
    "missing": {Readiness.NEEDS_YOU, Readiness.NEEDS_ADMIN, Readiness.FAILING},
}


def _with_grounds(caller: Caller, rows: list[Capability]) -> tuple[MyTool, ...]:
    # A right may be lost between the statements: such a tool is left out.
    ready = load_readiness(caller, [row.pk for row in rows], unavailable=True)
    grounds = grounds_for(caller=caller, capabilities=rows) if rows else {}
    return tuple(
        MyTool(row, grounds[row.pk], ready[row.pk], _secrets(row))
        for row in rows
        if row.pk in ready
    )


def _secrets(row: Capability) -> tuple[str, ...]:
    if not row.integration.transport:  # nothing here uses a secret
        return ()
    return tuple(dict.fromkeys([*row.integration.required_secrets, *row.required_secrets]))
