"""Steps of an explanation: rules, grants and settings in the order asked, in words and as data.

Which of it decides comes from `acl.rights.decision`; this module only words it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from acl.rights.decision import (
    Ground,
    Resolution,
    RightsFacts,
    RuleFact,
    SubjectKind,
    TargetKind,
    decide,
)
from acl.rights.precedence import DECISIONS, LADDER, Decision, GrantKind
from catalog.access.rights_facts import Facts
from catalog.access.rule_conflicts import EVERYONE, RuleInWords, Warning_, surprises


@dataclass(frozen=True, slots=True)
class Step:
    """A rule, grant, default or setting that bears on the answer, and the `effect` it alone has."""

    kind: Ground
    sentence: str
    effect: Decision
    decides: bool = False
    space: str = ""  # of a rule: slug and name
    space_name: str = ""
    distance: int = 0  # of a rule's space, from the caller's upwards
    subject: str = ""  # everyone, or the name of the user or group
    subject_kind: SubjectKind | Literal[""] = ""
    target: str = ""  # an integration's slug or a capability's full name
    target_kind: TargetKind | Literal[""] = ""
    rule: int | None = None  # its key


def resolve(facts: Facts) -> Resolution:
    """Return which of the facts decides."""
    off = any(_why_off(facts))
    return decide(
        RightsFacts(
            rules=facts.rules,
            grants=facts.grants,
            by_default=facts.opens_it,
            asks_first=facts.ai_access == "propose",
            stop="nobody" if not facts.somebody else "switched-off" if off else None,
        )
    )


def steps_of(facts: Facts, resolution: Resolution) -> tuple[Step, ...]:
    """Return the steps in the order in which they are asked; exactly one decides."""
    if not facts.somebody:
        return (Step("nobody", _why_nobody(facts), "no", decides=True),)
    rungs = {
        "rule": [rule_step(rule, facts.full_name, facts.integration) for rule in resolution.rules],
        "grant": [_grant(kind, facts) for kind in resolution.grants],
        "default": [_default(facts)],
    }
    steps = [Step("switched-off", sentence, "no") for sentence in _why_off(facts)]
    steps += [step for kind in LADDER for step in rungs[kind]]
    if facts.ai_access == "propose":
        steps.append(_own(facts))
    place = next(i for i, step in enumerate(steps) if step.kind == resolution.decides)
    steps[place] = replace(steps[place], decides=True)
    return tuple(steps)


def beaten_in(steps: tuple[Step, ...], resolution: Resolution) -> tuple[Step, ...]:
    """Return the rules with another effect than the one that was followed."""
    beaten = {rule.rule for rule in resolution.beaten}
    return tuple(step for step in steps if step.rule in beaten)


def warnings_in(facts: Facts, resolution: Resolution) -> tuple[Warning_, ...]:
    """Return warnings where the rule that was followed and those that it beat surprise."""
    if not resolution.beaten:
        return ()
    followed, *beaten = (_said(r, facts) for r in (resolution.rules[0], *resolution.beaten))
    return tuple(dict.fromkeys(w for other in beaten for w in surprises(followed, other)))


def _said(rule: RuleFact, facts: Facts) -> RuleInWords:
    return RuleInWords(
        effect=rule.effect,
        distance=rule.distance,
        space=rule.space_name,
        target=facts.full_name if rule.on_capability else facts.integration,
        target_kind=rule.target_kind,
        subject=rule.user or rule.group or EVERYONE,
        subject_kind=rule.subject_kind,
    )


def rule_step(rule: RuleFact, full_name: str, integration: str) -> Step:
    """Return the step of a rule, not yet marked as deciding."""
    effect, target = DECISIONS[rule.effect], full_name if rule.on_capability else integration
    subject = rule.user or rule.group or EVERYONE
    says = {
        "no": f"denies {target} for",
        "propose": f"lets {target} ask first for",
        "allow": f"allows {target} for",
    }[effect]
    whom = f"members of {subject}" if rule.group else subject
    return Step(
        "rule",
        f"A rule in {rule.space_name} {says} {whom}.",
        effect,
        space=rule.space,
        space_name=rule.space_name,
        distance=rule.distance,
        subject=subject,
        subject_kind=rule.subject_kind,
        target=target,
        target_kind=rule.target_kind,
        rule=rule.rule,
    )


def grant_step(kind: GrantKind, *, full_name: str, integration: str, user: str, group: str) -> Step:
    """Return the step of a grant."""
    level, _, subject_kind = kind.partition(" ")
    target = full_name if level == "capability" else integration
    subject = user if subject_kind == "user" else group
    whom = subject if subject_kind == "user" else f"the group {subject}"
    return Step(
        "grant",
        f"{target} is given to {whom}.",
        "allow",
        subject=subject,
        subject_kind="user" if subject_kind == "user" else "group",
        target=target,
        target_kind="capability" if level == "capability" else "integration",
    )


def open_step(group: str, integration: str) -> Step:
    """Return the step of an open group's default, for an integration that is not restricted."""
    return Step(
        "default",
        f"{group} is an open group, and {integration} is not restricted.",
        "allow",
        subject=group,
        subject_kind="group",
        target=integration,
        target_kind="integration",
    )


def _why_nobody(facts: Facts) -> str:
    if facts.username is None:
        return "There is no such user."
    if not facts.active:
        return f"{facts.username} is deactivated."
    if facts.group_name is None:
        return "There is no such group."
    if not facts.member:
        return f"{facts.username} is not a member of {facts.group_name}."
    return f"The space is not one of {facts.group_name}'s."


def _why_off(facts: Facts) -> Iterator[str]:
    if not facts.enabled:
        yield f"{facts.integration} is disabled."
    if facts.integration_state != "approved":
        yield f"{facts.integration} is {facts.integration_state}, not approved."
    if not facts.available:
        because = f": {facts.unavailable_reason}" if facts.unavailable_reason else "."
        yield f"{facts.full_name} is not available{because}"
    if facts.state != "approved":
        yield f"{facts.full_name} is {facts.state}, not approved."
    if facts.ai_access == "blocked":
        yield f"{facts.full_name} is blocked for AI."


def _grant(kind: GrantKind, facts: Facts) -> Step:
    return grant_step(
        kind,
        full_name=facts.full_name,
        integration=facts.integration,
        user=facts.username or "",
        group=facts.group_name or "",
    )


def _default(facts: Facts) -> Step:
    group = facts.group_name or ""
    if facts.opens_it:
        return open_step(group, facts.integration)
    why = f"{group} is allow-listed: what neither the group nor the person was given is out."
    if facts.is_open:
        why = f"{group} is an open group, but {facts.integration} is restricted to chosen groups."
    return replace(open_step(group, facts.integration), sentence=why, effect="no")


def _own(facts: Facts) -> Step:
    return Step(
        "own",
        f"{facts.full_name} asks first by its own setting.",
        "propose",
        target=facts.full_name,
        target_kind="capability",
    )
