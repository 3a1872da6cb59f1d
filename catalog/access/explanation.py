"""Why somebody may or may not use something, what they have in all, and who has one thing."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group

from acl.rights.caller import Caller
from acl.rights.decision import RightsFacts, RuleFact, decide
from acl.rights.precedence import DECISIONS, LADDER, Decision
from catalog.access.capability_holders import HolderRow, holders_of
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
from catalog.access.rights_facts import Facts, facts_about
from catalog.access.rule_conflicts import Warning_
from catalog.models import Capability

__all__ = [
    "Explanation", "Holder", "Holders", "Place", "Reach", "Reached", "Step",
    "explain", "explain_many", "explain_own", "reach_of", "who_can",
]  # fmt: skip
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A space on the way from the caller's up to the root."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer, and everything that speaks about it, in the order in which it is decided."""

    full_name: str
    decision: Decision
    because: str
    steps: tuple[Step, ...]
    beaten: tuple[Step, ...]  # rules that say something else and were not followed
    path: tuple[Place, ...]  # the caller's space first
    warnings: tuple[Warning_, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """What works where the answer surprises."""
        return tuple(str(warning) for warning in self.warnings)

    @property
    def ground(self) -> Step | None:
        """The rule, grant or default that the answer rests on; None where none was asked."""
        return next((s for s in self.steps if s.kind in LADDER), None)


@dataclass(frozen=True, slots=True)
class Reached:
    """A capability that a caller reaches, and why."""

    capability: Capability
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Reach:
    """One page of everything that a caller reaches."""

    items: tuple[Reached, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A person who reaches a capability: in which group and space, how, and through what."""

    user: str
    group: str
    space: str  # slug; a space that is not listed answers as the one above it
    space_name: str
    decision: Decision
    ground: Step


@dataclass(frozen=True, slots=True)
class Holders:
    """One page of those who reach a capability."""

    items: tuple[Holder, ...]
    count: int
    page: int
    pages: int


def explain(*, caller: Caller, full_name: str) -> Explanation | None:
    """The answer for one capability, to an admin; None where there is no such capability."""
    return explain_many(caller=caller, full_names=[full_name]).get(full_name)


def explain_own(*, caller: Caller, full_name: str) -> Explanation | None:
    """The answer to the caller themselves: None, too, where they may not know that it exists."""
    facts = facts_about(caller, [full_name]).get(full_name)
    return _explanation(facts) if facts is not None and facts.mode else None


def explain_many(*, caller: Caller, full_names: Iterable[str]) -> dict[str, Explanation]:
    """The answers by full name, in one statement; to an admin, or about what the caller reaches."""
    facts = facts_about(caller, list(full_names))
    return {name: _explanation(each) for name, each in facts.items()}


def reach_of(*, caller: Caller, words: str = "", page: int = 1) -> Reach:
    """Everything that the caller reaches, by full name, with the ground of each."""
    usable = Capability.objects.usable_by(caller).mentioning(words)
    count = usable.count()
    page, pages = _page(page, count)
    rows = list(
        usable.select_related("integration")
        .defer("input_schema", "output_schema", "content", "examples", "annotations", "source_ref")
        .order_by("full_name", "pk")[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    )
    why = explain_many(caller=caller, full_names=[row.full_name for row in rows])
    # One of them may have gone since the list was read.
    items = tuple(Reached(row, why[row.full_name]) for row in rows if row.full_name in why)
    return Reach(items, count, page, pages)


def who_can(*, capability: Capability, group: Group | None = None, page: int = 1) -> Holders:
    """Who reaches the capability: each active member of each group (or of one), in the group's root
    and in every space where a rule about it stands."""
    only = group.pk if group else None
    start = (max(1, page) - 1) * PAGE_SIZE
    rows = holders_of(capability.pk, group=only, limit=PAGE_SIZE, offset=start)
    if not rows and start:  # past the end: the last page there is
        first = holders_of(capability.pk, group=only, limit=1, offset=0)
        if first:
            return who_can(capability=capability, group=group, page=_page(page, first[0].total)[0])
    count = rows[0].total if rows else 0
    return Holders(tuple(_holder(row, capability) for row in rows), count, *_page(page, count))


def _explanation(facts: Facts) -> Explanation:
    resolution = resolve(facts)
    steps = steps_of(facts, resolution)
    off = not facts.available  # `mode` says what holds as if it were available
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
    """One sentence: what decides, and what it rests on."""
    deciding = next(step for step in steps if step.decides)
    if deciding.kind != "own":
        return deciding.sentence
    return f"{steps[0].sentence[:-1]}, but {deciding.sentence}"


def _page(page: int, count: int) -> tuple[int, int]:
    """The page that there is, and how many there are."""
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
