"""Explanations: why a caller may use something, all they may use, and who may use it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, TypedDict

from django.contrib.auth.models import Group
from django.db import connection

from acl.platform.answer_model import HIDDEN, Answer, Shown
from acl.rights.caller_lookup import Caller
from acl.rights.holders import holders_sql
from acl.rights.past import past_moment
from acl.rights.precedence import (
    DECISIONS,
    LADDER,
    Decision,
    GrantKind,
    RightsFacts,
    RuleFact,
    decide,
)
from catalog.access._explanation_steps import (
    CallerFacts,
    ExplanationStep,
    beaten_in,
    grant_step,
    load_facts,
    open_step,
    resolve,
    rule_step,
    steps_of,
    warnings_in,
)
from catalog.access.rules import RuleConflict
from catalog.models import Capability
from catalog.querysets import TABLES
from catalog.readiness.readiness import MendLink, ToolReadiness, mend_link, tell_approvers

# Holders of a capability: people by group and space, with the ground of their access.

_STATEMENT = f"""
WITH RECURSIVE {holders_sql(TABLES)}
SELECT count(*) OVER (), h.username, g.name, COALESCE(s.slug, ''), COALESCE(s.name, ''), h.mode,
       h.kind, r.id, r.effect, rs.slug, rs.name, ru.username, rg.name,
       r.capability_id IS NOT NULL
FROM holder h JOIN auth_group g ON g.id = h.group_id
LEFT JOIN acl_space s ON s.id = h.space_id
LEFT JOIN catalog_rule r ON r.id = h.rule_id
LEFT JOIN acl_space rs ON rs.id = r.space_id
LEFT JOIN auth_user ru ON ru.id = r.user_id
LEFT JOIN auth_group rg ON rg.id = r.group_id
WHERE %(group)s::bigint IS NULL OR h.group_id = %(group)s::bigint
ORDER BY g.name, g.id, s.parent_id NULLS FIRST, s.slug, h.username, h.user_id
LIMIT %(limit)s OFFSET %(offset)s
"""  # noqa: S608 - constants only


class _HolderScope(TypedDict):
    group: int | None
    application: int | None


class HolderRow(NamedTuple):
    """A holder of the capability in one group and space."""

    total: int  # of all rows
    user: str
    group: str
    space: str
    space_name: str
    mode: int
    grant: GrantKind | None  # the first of GRANTS that they have
    rule: int | None
    effect: int | None
    rule_space: str | None
    rule_space_name: str | None
    rule_user: str | None
    rule_group: str | None
    on_capability: bool


def load_holders(
    capability: int, *, group: int | None, application: int | None, limit: int, offset: int
) -> list[HolderRow]:
    """Return a page of holders, by group, space and name."""
    parameters = {
        "capability": capability,
        "application": application,
        "group": group,
        "unavailable": False,
        "kind": "",
        "limit": limit,
        "offset": offset,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, parameters)
        return [HolderRow._make(row) for row in cursor.fetchall()]


__all__ = [
    "ExplainedPlace",
    "Explanation",
    "ExplanationStep",
    "Holder",
    "Holders",
    "Reach",
    "Reached",
    "explain",
    "explain_many",
    "explain_own",
    "list_holders",
    "list_reach",
]  # fmt: skip
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class ExplainedPlace(Answer):
    """A space."""

    component = "Place"

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its steps, in order of precedence."""

    full_name: str
    integration: str
    decision: Decision
    because: str
    steps: tuple[ExplanationStep, ...]
    beaten: tuple[ExplanationStep, ...]  # rules that say something else and were not followed
    path: tuple[ExplainedPlace, ...]  # the caller's space first
    warnings: tuple[RuleConflict, ...]
    readiness: ToolReadiness | None  # None without the right, and at a past moment

    @property
    def advice(self) -> tuple[str, ...]:
        """Return alternatives for surprising decisions."""
        return tuple(str(warning) for warning in self.warnings)

    @property
    def mend(self) -> MendLink | None:
        """Return the link by which the person asked about can mend the readiness."""
        return self._mend(about_other=False)

    @property
    def mend_by_admin(self) -> MendLink | None:
        """Return the link by which an admin can mend it for that person."""
        return self._mend(about_other=True)

    def _mend(self, *, about_other: bool) -> MendLink | None:
        if self.readiness is None or self.decision == "no":
            return None
        return mend_link(
            self.readiness,
            integration=self.integration,
            full_name=self.full_name,
            about_other=about_other,
        )

    @property
    def ground(self) -> ExplanationStep | None:
        """Return the rule, grant or default behind the decision, or None."""
        return next((s for s in self.steps if s.kind in LADDER), None)


@dataclass(frozen=True, slots=True)
class Reached:
    """A usable capability, and why."""

    capability: Capability
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Reach:
    """A page of the capabilities a caller may use."""

    items: tuple[Reached, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Holder(Answer):
    """A person in a group and a space."""

    user: str
    group: str
    space: Annotated[str, Shown("A space that is not listed has the answer of its parent.")]
    space_name: Annotated[str, HIDDEN]
    decision: Annotated[Decision, Shown(choices=DECISIONS)]
    ground: ExplanationStep


@dataclass(frozen=True, slots=True)
class Holders(Answer):
    """A page of a capability's holders."""

    items: tuple[Holder, ...]
    count: int
    page: int
    pages: int


def explain(*, caller: Caller, full_name: str) -> Explanation | None:
    """Explain a decision to an admin; None if there is no such capability."""
    explanation = explain_many(caller=caller, full_names=[full_name]).get(full_name)
    return _tell_approver(explanation, caller) if explanation else None


def explain_own(*, caller: Caller, full_name: str) -> Explanation | None:
    """Explain a decision to the caller; None if they may not know of the capability."""
    facts = load_facts(caller, [full_name]).get(full_name)
    if facts is None or not facts.mode:
        return None
    return _tell_approver(_explanation(facts), caller)


def explain_many(*, caller: Caller, full_names: Iterable[str]) -> dict[str, Explanation]:
    """Explain several decisions with one statement, by full name.

    For admins, or usable ones only.
    """
    facts = load_facts(caller, list(full_names))
    return {name: _explanation(capability_facts) for name, capability_facts in facts.items()}


def list_reach(*, caller: Caller, words: str = "", page: int = 1) -> Reach:
    """Return a page of the caller's capabilities with their grounds, by full name."""
    usable = Capability.objects.usable_by(caller).mentioning(words)
    count = usable.count()
    page, pages = _page(page, count)
    rows = list(
        usable.select_related("integration")
        .defer("input_schema", "output_schema", "content", "examples", "annotations", "source_ref")
        .order_by("full_name", "pk")[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    )
    why = explain_many(caller=caller, full_names=[row.full_name for row in rows])
    # A capability may have been deleted since the list was read.
    items = tuple(Reached(row, why[row.full_name]) for row in rows if row.full_name in why)
    return Reach(items, count, page, pages)


def list_holders(
    *,
    capability: Capability,
    group: Group | None = None,
    application: int | None = None,
    page: int = 1,
) -> Holders:
    """Return a page of the people who may use the capability.

    Active members are listed for the root space of each group (or of one) and for every space with
    a rule about the capability. With `application`, those whom it may serve with the capability.
    """
    scope: _HolderScope = {"group": group.pk if group else None, "application": application}
    start = (max(1, page) - 1) * PAGE_SIZE
    rows = load_holders(capability.pk, **scope, limit=PAGE_SIZE, offset=start)
    if not rows and start:  # past the end: the last page there is
        first = load_holders(capability.pk, **scope, limit=1, offset=0)
        if first:
            last = _page(page, first[0].total)[0]
            return list_holders(
                capability=capability, group=group, application=application, page=last
            )
    count = rows[0].total if rows else 0
    return Holders(tuple(_holder(row, capability) for row in rows), count, *_page(page, count))


def _explanation(facts: CallerFacts) -> Explanation:
    resolution = resolve(facts)
    steps = steps_of(facts, resolution)
    off = not facts.available  # `mode` ignores availability
    return Explanation(
        full_name=facts.full_name,
        integration=facts.integration,
        decision="no" if off else DECISIONS[facts.mode],
        because=_because(steps),
        steps=steps,
        beaten=beaten_in(steps, resolution),
        path=tuple(ExplainedPlace(slug, name) for slug, name in facts.path),
        warnings=warnings_in(facts, resolution),
        readiness=facts.readiness if facts.mode and past_moment() is None else None,
    )


def _tell_approver(explanation: Explanation, caller: Caller) -> Explanation:
    if explanation.readiness is None:
        return explanation
    # It is about the person, whoever reads it with which key.
    [readiness] = tell_approvers([explanation.readiness], caller.user_id, alone=True)
    return replace(explanation, readiness=readiness)


def _because(steps: tuple[ExplanationStep, ...]) -> str:
    """Return the deciding step's sentence, after its ground's if its own setting decides."""
    deciding = next(step for step in steps if step.decides)
    if deciding.kind != "own":
        return deciding.sentence
    return f"{steps[0].sentence} {deciding.sentence}"


def _page(page: int, count: int) -> tuple[int, int]:
    """Clamp a page number; return it with the number of pages."""
    pages = max(1, -(-count // PAGE_SIZE))
    return min(max(1, page), pages), pages


def _holder(row: HolderRow, capability: Capability) -> Holder:
    return Holder(
        user=row.user,
        group=row.group,
        space=row.space,
        space_name=row.space_name,
        decision=DECISIONS[row.mode],
        ground=_ground(row, capability),
    )


def _ground(row: HolderRow, capability: Capability) -> ExplanationStep:
    """Return the rule, grant or default that gives it to the holder."""
    name, integration = capability.full_name, capability.integration.slug
    facts = RightsFacts(
        rules=(_rule_of(row),) if row.rule is not None else (),
        grants=(row.grant,) if row.grant else (),
        by_default=True,
    )
    match (decision := decide(facts)).decides:
        case "rule":
            return rule_step(decision.rules[0], name, integration)
        case "grant":
            return grant_step(
                decision.grants[0],
                full_name=name,
                integration=integration,
                user=row.user,
                group=row.group,
            )
        case _:
            return open_step(row.group, integration)


def _rule_of(row: HolderRow) -> RuleFact:
    return RuleFact(
        rule=row.rule or 0,
        effect=row.effect or 0,
        distance=0,
        space=row.rule_space or "",
        space_name=row.rule_space_name or "",
        user=row.rule_user,
        group=row.rule_group,
        on_capability=row.on_capability,
    )
