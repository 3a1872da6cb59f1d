"""Steps of an explanation: rules, grants and settings in the order asked, in words and as data.

Which of it decides comes from `acl.rights.decision`; this module only words it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.platform.answer_model import Answer, Shown
from acl.platform.stored_texts import translate_stored
from acl.rights.decision import (
    Ground,
    Resolution,
    RightsFacts,
    RuleFact,
    SubjectKind,
    TargetKind,
    decide,
)
from acl.rights.precedence_sql import DECISIONS, LADDER, Decision, GrantKind
from catalog.access._rights_facts import CallerFacts
from catalog.access._rule_conflicts import EVERYONE, RuleConflict, RuleInWords, find_conflicts
from catalog.models.integration import ReviewState

_RULE_SENTENCES = {
    "no": gettext_lazy("A rule in %(space)s denies %(target)s for %(whom)s."),
    "propose": gettext_lazy("A rule in %(space)s makes %(target)s ask first for %(whom)s."),
    "allow": gettext_lazy("A rule in %(space)s allows %(target)s for %(whom)s."),
}


KINDS: tuple[str, ...] = get_args(Ground)


@dataclass(frozen=True, slots=True)
class ExplanationStep(Answer):
    """A rule, grant or default considered for the decision."""

    component = "Step"

    kind: Annotated[Ground, Shown(choices=KINDS)]
    sentence: Annotated[str, Shown("The same as text.")]
    effect: Annotated[Decision, Shown("Its own decision.", choices=DECISIONS)]
    decides: Annotated[bool, Shown("True for the step that decides.")] = False
    space: Annotated[str, Shown("The slug of a rule's space.")] = ""
    space_name: str = ""
    distance: Annotated[int, Shown("How many levels a rule's space is above the caller's.")] = 0
    subject: Annotated[str, Shown("`everyone`, or the name of the user or group.")] = ""
    subject_kind: Annotated[
        SubjectKind | Literal[""], Shown(type=str, choices=("everyone", "user", "group", ""))
    ] = ""
    target: Annotated[str, Shown("An integration's slug or a full name.")] = ""
    target_kind: Annotated[
        TargetKind | Literal[""], Shown(type=str, choices=("integration", "capability", ""))
    ] = ""
    rule: Annotated[int | None, Shown("Its id.")] = None


def resolve(facts: CallerFacts) -> Resolution:
    """Return which of the facts decides."""
    off = any(_why_off(facts))
    return decide(
        RightsFacts(
            rules=facts.rules,
            grants=facts.grants,
            by_default=facts.opens_it,
            asks_first=facts.ai_access == "propose",
            stop="nobody" if not facts.someone else "switched-off" if off else None,
        )
    )


def steps_of(facts: CallerFacts, resolution: Resolution) -> tuple[ExplanationStep, ...]:
    """Return the steps in the order in which they are asked; exactly one decides."""
    if not facts.someone:
        return (ExplanationStep("nobody", _why_nobody(facts), "no", decides=True),)
    rungs = {
        "rule": [rule_step(rule, facts.full_name, facts.integration) for rule in resolution.rules],
        "grant": [_grant(kind, facts) for kind in resolution.grants],
        "default": [_default(facts)],
    }
    steps = [ExplanationStep("switched-off", sentence, "no") for sentence in _why_off(facts)]
    steps += [step for kind in LADDER for step in rungs[kind]]
    if facts.ai_access == "propose":
        steps.append(_own(facts))
    place = next(i for i, step in enumerate(steps) if step.kind == resolution.decides)
    steps[place] = replace(steps[place], decides=True)
    return tuple(steps)


def beaten_in(
    steps: tuple[ExplanationStep, ...], resolution: Resolution
) -> tuple[ExplanationStep, ...]:
    """Return the rules with another effect than the one that was followed."""
    beaten = {rule.rule for rule in resolution.beaten}
    return tuple(step for step in steps if step.rule in beaten)


def warnings_in(facts: CallerFacts, resolution: Resolution) -> tuple[RuleConflict, ...]:
    """Return warnings where the rule that was followed and those that it beat surprise."""
    if not resolution.beaten:
        return ()
    followed, *beaten = (
        _describe_rule(r, facts) for r in (resolution.rules[0], *resolution.beaten)
    )
    return tuple(dict.fromkeys(w for loser in beaten for w in find_conflicts(followed, loser)))


def _describe_rule(rule: RuleFact, facts: CallerFacts) -> RuleInWords:
    return RuleInWords(
        effect=rule.effect,
        distance=rule.distance,
        space=rule.space_name,
        target=facts.full_name if rule.on_capability else facts.integration,
        target_kind=rule.target_kind,
        subject=rule.user or rule.group or EVERYONE,
        subject_kind=rule.subject_kind,
    )


def rule_step(rule: RuleFact, full_name: str, integration: str) -> ExplanationStep:
    """Return the step of a rule, not yet marked as deciding."""
    effect, target = DECISIONS[rule.effect], full_name if rule.on_capability else integration
    subject = rule.user or rule.group or EVERYONE
    names = {"space": rule.space_name, "target": target, "whom": _name_subject(rule)}
    return ExplanationStep(
        "rule",
        str(_RULE_SENTENCES[effect]) % names,
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


def _name_subject(rule: RuleFact) -> str:
    if rule.group:
        return _("members of %(group)s") % {"group": rule.group}
    return rule.user or _("everyone")


def grant_step(
    kind: GrantKind, *, full_name: str, integration: str, user: str, group: str
) -> ExplanationStep:
    """Return the step of a grant."""
    level, subject_kind = kind.split(" ")
    target = full_name if level == "capability" else integration
    subject = user if subject_kind == "user" else group
    to_user, to_group = (
        _("%(target)s is granted to %(whom)s."),
        _("%(target)s is granted to the group %(whom)s."),
    )
    granted = to_user if subject_kind == "user" else to_group
    return ExplanationStep(
        "grant",
        granted % {"target": target, "whom": subject},
        "allow",
        subject=subject,
        subject_kind="user" if subject_kind == "user" else "group",
        target=target,
        target_kind="capability" if level == "capability" else "integration",
    )


def open_step(group: str, integration: str) -> ExplanationStep:
    """Return the step of an open group's default, for an integration that is not restricted."""
    return ExplanationStep(
        "default",
        _("%(group)s is an open group, and %(integration)s is not restricted.")
        % {"group": group, "integration": integration},
        "allow",
        subject=group,
        subject_kind="group",
        target=integration,
        target_kind="integration",
    )


def _why_nobody(facts: CallerFacts) -> str:
    if facts.username is None:
        return _("There is no such user.")
    names = {"user": facts.username, "group": facts.group_name}
    if not facts.active:
        return _("%(user)s is deactivated.") % names
    if facts.group_name is None:
        return _("There is no such group.")
    if not facts.member:
        return _("%(user)s is not a member of %(group)s.") % names
    return _("The space does not belong to %(group)s.") % names


def _why_off(facts: CallerFacts) -> Iterator[str]:
    if not facts.enabled:
        yield _("%(name)s is disabled.") % {"name": facts.integration}
    if facts.integration_state != "approved":
        yield _not_approved(facts.integration, facts.integration_state)
    if not facts.theirs:
        yield _("%(name)s is another person's own server.") % {"name": facts.integration}
    if not facts.available and facts.unavailable_reason:
        names = {"name": facts.full_name, "reason": translate_stored(facts.unavailable_reason)}
        yield _("%(name)s is not available: %(reason)s") % names
    elif not facts.available:
        yield _("%(name)s is not available.") % {"name": facts.full_name}
    if facts.state != "approved":
        yield _not_approved(facts.full_name, facts.state)
    if facts.ai_access == "blocked":
        yield _("%(name)s is blocked for AI.") % {"name": facts.full_name}
    if facts.ai_access == "app":
        yield _("%(name)s is only for its server's app, not for AI.") % {"name": facts.full_name}


def _not_approved(name: str, state: str) -> str:
    label = str(ReviewState(state).label).lower()
    return _("%(name)s is %(state)s, not approved.") % {"name": name, "state": label}


def _grant(kind: GrantKind, facts: CallerFacts) -> ExplanationStep:
    return grant_step(
        kind,
        full_name=facts.full_name,
        integration=facts.integration,
        user=facts.username or "",
        group=facts.group_name or "",
    )


def _default(facts: CallerFacts) -> ExplanationStep:
    group = facts.group_name or ""
    if facts.opens_it:
        return open_step(group, facts.integration)
    names = {"group": group, "integration": facts.integration}
    if facts.is_open:
        why = _("%(group)s is an open group, but %(integration)s is restricted.") % names
    elif facts.grants:
        why = _("%(group)s is allow-listed: only what is granted may be used.") % names
    else:
        why = _("%(group)s is allow-listed, and nothing grants it to the group or the person.")
        why %= names
    return replace(open_step(group, facts.integration), sentence=why, effect="no")


def _own(facts: CallerFacts) -> ExplanationStep:
    return ExplanationStep(
        "own",
        _("%(name)s asks first by its own setting.") % {"name": facts.full_name},
        "propose",
        target=facts.full_name,
        target_kind="capability",
    )
