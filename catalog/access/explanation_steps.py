"""All that speaks about an answer, in the order in which it is decided, in words and as data.

The statement has decided already: this only says by what.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from catalog.access.rights_facts import Facts, RuleFact
from catalog.access.rule_conflicts import EVERYONE, Said, Warning_, further_up, in_one_space

Decision = Literal["no", "propose", "allow"]
Kind = Literal["nobody", "switched-off", "rule", "grant", "default", "own"]
DECISIONS: tuple[Decision, ...] = ("no", "propose", "allow")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that speaks about the answer, and what it says (`effect`)."""

    kind: Kind
    sentence: str
    effect: Decision
    decides: bool = False
    space: str = ""  # a rule's: the slug, and the name for people
    space_name: str = ""
    distance: int = 0  # of a rule's space, from the caller's upwards
    subject: str = ""  # everyone, or the name of the user or group
    subject_kind: Literal["", "everyone", "user", "group"] = ""
    target: str = ""  # an integration's slug or a capability's full name
    target_kind: Literal["", "integration", "capability"] = ""
    rule: int | None = None  # its key

    @property
    def said(self) -> Said:
        """What a rule says, by names."""
        return Said(
            effect=DECISIONS.index(self.effect),
            space=self.space_name,
            target=self.target,
            on_capability=self.target_kind == "capability",
            subject=self.subject,
            narrow=("everyone", "group", "user").index(self.subject_kind or "everyone"),
        )


def steps_of(facts: Facts) -> tuple[Step, ...]:
    """The steps; exactly one decides."""
    if not facts.somebody:
        return (Step("nobody", _why_nobody(facts), "no", decides=True),)
    off = [Step("switched-off", sentence, "no") for sentence in _why_off(facts)]
    rules = [rule_step(rule, facts.full_name, facts.integration) for rule in facts.rules]
    grants = [_grant(kind, facts) for kind in facts.grants]
    steps = [*off, *rules, *grants, _default(facts)]
    if facts.ai_access == "propose":
        steps.append(_own(facts))
    place = 0
    if not off and facts.ai_access == "propose" and steps[0].effect == "allow":
        place = len(steps) - 1
    steps[place] = replace(steps[place], decides=True)
    return tuple(steps)


def rule_step(rule: RuleFact, full_name: str, integration: str) -> Step:
    """A rule, as a step that does not decide so far."""
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
        subject_kind="user" if rule.user else "group" if rule.group else "everyone",
        target=target,
        target_kind="capability" if rule.on_capability else "integration",
        rule=rule.rule,
    )


def grant_step(kind: str, *, full_name: str, integration: str, user: str, group: str) -> Step:
    """A grant of that kind ("capability user" …)."""
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
    """An open group's default, for what is not restricted."""
    return Step(
        "default",
        f"{group} is an open group, and {integration} is not restricted.",
        "allow",
        subject=group,
        subject_kind="group",
        target=integration,
        target_kind="integration",
    )


def beaten_in(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The rules that say something else than the first one, which was followed."""
    rules = [step for step in steps if step.kind == "rule"]
    if any(step.kind == "switched-off" for step in steps):
        return ()
    return tuple(rule for rule in rules[1:] if rule.effect != rules[0].effect)


def warnings_in(steps: tuple[Step, ...]) -> tuple[Warning_, ...]:
    """Where the rule that was followed and those that it beat surprise."""
    beaten = beaten_in(steps)
    if not beaten:
        return ()
    first = next(step for step in steps if step.kind == "rule")
    found: list[Warning_] = []
    for other in beaten:
        if first.effect == "no" and other.distance == first.distance:
            found += in_one_space(first.said, other.said)
        elif other.effect == "no" and first.effect != "no":
            found += further_up(other.said, first.said)
    return tuple(dict.fromkeys(found))


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


def _grant(kind: str, facts: Facts) -> Step:
    return grant_step(
        kind,
        full_name=facts.full_name,
        integration=facts.integration,
        user=facts.username or "",
        group=facts.group_name or "",
    )


def _default(facts: Facts) -> Step:
    group = facts.group_name or ""
    if facts.is_open and not facts.restricted:
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
