"""Explanations: why a caller may use something, all they may use, and who may use it."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group

from acl.rights.caller import Caller
from acl.rights.decision import RightsFacts, RuleFact, decide
from acl.rights.precedence import DECISIONS, LADDER, Decision
from catalog.access.capability_holders import HolderRow, load_holders
from catalog.access.explanation_steps import (
    Step,
    beaten_in,
    grant_step,
    open_step,
    resolve,
    rule_step,
    steps_of,
    warnings_in,
)
from catalog.access.rights_facts import Facts, load_facts
from catalog.access.rule_conflicts import Warning_
from catalog.models import Capability

__all__ = [
    "Explanation", "Holder", "Holders", "Place", "Reach", "Reached", "Step",
    "explain", "explain_many", "explain_own", "list_holders", "list_reach",
]  # fmt: skip
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A space on the path from the caller's space to the root."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its steps, in order of precedence."""

    full_name: str
    decision: Decision
    because: str
    steps: tuple[Step, ...]
    beaten: tuple[Step, ...]  # rules that say something else and were not followed
    path: tuple[Place, ...]  # the caller's space first
    warnings: tuple[Warning_, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """Return alternatives for surprising decisions."""
        return tuple(str(warning) for warning in self.warnings)

    @property
    def ground(self) -> Step | None:
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
class Holder:
    """A holder of a capability in one group and space, and the ground."""

    user: str
    group: str
    space: str  # slug; a space that is not listed answers as the one above it
    space_name: str
    decision: Decision
    ground: Step


@dataclass(frozen=True, slots=True)
class Holders:
    """A page of a capability's holders."""

    items: tuple[Holder, ...]
    count: int
    page: int
    pages: int


def explain(*, caller: Caller, full_name: str) -> Explanation | None:
    """Explain a decision to an admin; None if there is no such capability."""
    return explain_many(caller=caller, full_names=[full_name]).get(full_name)


def explain_own(*, caller: Caller, full_name: str) -> Explanation | None:
    """Explain a decision to the caller; None if they may not know of the capability."""
    facts = load_facts(caller, [full_name]).get(full_name)
    return _explanation(facts) if facts is not None and facts.mode else None


def explain_many(*, caller: Caller, full_names: Iterable[str]) -> dict[str, Explanation]:
    """Explain several decisions with one statement, by full name.

    For admins, or usable ones only.
    """
    facts = load_facts(caller, list(full_names))
    return {name: _explanation(each) for name, each in facts.items()}


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


def list_holders(*, capability: Capability, group: Group | None = None, page: int = 1) -> Holders:
    """Return a page of the people who may use the capability.

    Active members are listed for the root space of each group (or of one) and for every space with
    a rule about the capability.
    """
    only = group.pk if group else None
    start = (max(1, page) - 1) * PAGE_SIZE
    rows = load_holders(capability.pk, group=only, limit=PAGE_SIZE, offset=start)
    if not rows and start:  # past the end: the last page there is
        first = load_holders(capability.pk, group=only, limit=1, offset=0)
        if first:
            return list_holders(
                capability=capability, group=group, page=_page(page, first[0].total)[0]
            )
    count = rows[0].total if rows else 0
    return Holders(tuple(_holder(row, capability) for row in rows), count, *_page(page, count))


def _explanation(facts: Facts) -> Explanation:
    resolution = resolve(facts)
    steps = steps_of(facts, resolution)
    off = not facts.available  # `mode` ignores availability
    return Explanation(
        full_name=facts.full_name,
        decision="no" if off else DECISIONS[facts.mode],
        because=_because(steps),
        steps=steps,
        beaten=beaten_in(steps, resolution),
        path=tuple(Place(slug, name) for slug, name in facts.path),
        warnings=warnings_in(facts, resolution),
    )


def _because(steps: tuple[Step, ...]) -> str:
    """Return a sentence with the deciding step and its ground."""
    deciding = next(step for step in steps if step.decides)
    if deciding.kind != "own":
        return deciding.sentence
    return f"{steps[0].sentence[:-1]}, but {deciding.sentence}"


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


def _ground(row: HolderRow, capability: Capability) -> Step:
    """Return the rule, grant or default that gives it to the holder."""
    name, integration = capability.full_name, capability.integration.slug
    facts = RightsFacts(
        rules=(_rule_of(row),) if row.rule is not None else (),
        grants=(row.grant,) if row.grant else (),
        by_default=True,
    )
    match (found := decide(facts)).decides:
        case "rule":
            return rule_step(found.rules[0], name, integration)
        case "grant":
            return grant_step(
                found.grants[0],
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
