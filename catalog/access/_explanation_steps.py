"""Steps of an explanation: rules, grants and settings in the order asked, in words and as data.

Which of it decides comes from `acl.rights.precedence`; this module only words it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.platform.answer_model import Answer, Shown
from acl.platform.stored_texts import translate_stored
from acl.rights.caller_lookup import Caller
from acl.rights.precedence import (
    DECISIONS,
    LADDER,
    THEIRS,
    Decision,
    GrantKind,
    Ground,
    Resolution,
    RightsFacts,
    RuleFact,
    Stop,
    SubjectKind,
    TargetKind,
    decide,
)
from acl.rights.statement import rights_parameters, rights_sql
from catalog.access.rules import EVERYONE, RuleConflict, RuleInWords, find_conflicts
from catalog.models import RuntimeCapability
from catalog.models.integration import ReviewState
from catalog.querysets import TABLES
from catalog.readiness.readiness import (
    COLUMNS,
    MODE_OF_ROW,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    readiness_from,
)

# Facts behind one caller's answers: rules, grants and defaults.
#
# The statement that decides reads them, in one snapshot with its decision.

_STATEMENT = f"""
WITH RECURSIVE {rights_sql(TABLES, with_rules=True)},
caller AS MATERIALIZED (
  SELECT u.username, u.is_active AS active, g.name AS group_name,
         EXISTS (SELECT FROM auth_user_groups m WHERE m.user_id = u.id AND m.group_id = g.id)
           AS member,
         EXISTS (SELECT FROM who) AS someone, (SELECT open_default FROM who) AS is_open,
         COALESCE((SELECT json_agg(json_build_object('slug', s.slug, 'name', s.name)
                                   ORDER BY path.distance)
                   FROM path JOIN acl_space s ON s.id = path.id), '[]') AS path,
         CASE WHEN %(application)s::bigint IS NOT NULL THEN COALESCE((
           SELECT name FROM acl_application a WHERE a.id = %(application)s::bigint), '')
         END AS application
  FROM (SELECT) one
  LEFT JOIN auth_user u ON u.id = %(user)s::bigint
  LEFT JOIN auth_group g ON g.id = %(group)s::bigint
)
SELECT c.full_name, i.slug AS integration, i.title, i.enabled, i.state AS integration_state,
       i.restricted, {THEIRS.format(integration="i", user="%(user)s::bigint")} AS theirs,
       c.available AND c.id NOT IN (SELECT id FROM ended) AS available,
       CASE WHEN c.id IN (SELECT id FROM ended) THEN '{RuntimeCapability.EXPIRED}'
            ELSE c.unavailable_reason END AS unavailable_reason, c.state, c.ai_access,
       CASE WHEN c.id IN (SELECT id FROM usable WHERE mode = 2) THEN 2
            WHEN c.id IN (SELECT id FROM usable WHERE mode = 1) THEN 1 ELSE 0 END AS mode,
       {facts_sql(mode=MODE_OF_ROW)},
       COALESCE((
         SELECT json_agg(json_build_object(
             'rule', r.id, 'effect', r.effect, 'distance', h.distance, 'space', s.slug,
             'space_name', s.name, 'user', u.username, 'group', g.name,
             'on_capability', r.capability_id IS NOT NULL))
         FROM hit h JOIN catalog_rule r ON r.id = h.rule_id JOIN acl_space s ON s.id = r.space_id
         LEFT JOIN auth_user u ON u.id = r.user_id LEFT JOIN auth_group g ON g.id = r.group_id
         WHERE h.capability_id = c.id OR h.integration_id = c.integration_id), '[]') AS rules,
       ARRAY(
         SELECT 'capability user' FROM who JOIN catalog_capabilityuserpermission p
           ON p.user_id = who.user_id AND p.content_object_id = c.id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
         UNION ALL SELECT 'integration user' FROM who JOIN catalog_integrationuserpermission p
           ON p.user_id = who.user_id AND p.content_object_id = c.integration_id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
         UNION ALL SELECT 'capability group' FROM who JOIN catalog_capabilitygrouppermission p
           ON p.group_id = who.group_id AND p.content_object_id = c.id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
         UNION ALL SELECT 'integration group' FROM who JOIN catalog_integrationgrouppermission p
           ON p.group_id = who.group_id AND p.content_object_id = c.integration_id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
       ) AS grants,
       COALESCE((SELECT i.id = ANY (who.allowed) FROM who), true) AS allowed,
       caller.*
FROM caller CROSS JOIN catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
WHERE c.full_name = ANY (%(names)s::text[])
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class CallerFacts:
    """Facts about one capability for one caller. Rules and grants are in no order."""

    full_name: str
    integration: str
    title: str
    enabled: bool
    integration_state: str
    restricted: bool
    theirs: bool  # not another person's own server
    available: bool
    unavailable_reason: str
    state: str
    ai_access: str
    readiness: ToolReadiness  # means nothing without the right
    mode: int  # by the statement: 0 no, 1 asks first, 2 runs; as if it were available
    rules: tuple[RuleFact, ...]
    grants: tuple[GrantKind, ...]
    allowed: bool  # to the application that asks, if one does
    username: str | None
    active: bool | None
    group_name: str | None
    member: bool
    someone: bool  # the caller can be answered at all
    is_open: bool | None
    path: tuple[tuple[str, str], ...]  # slug and name of the caller's space and those above it
    application: str | None  # its name, or "" if it is gone; None if none asks

    @property
    def opens_it(self) -> bool:
        """True if the group's default allows it."""
        return bool(self.is_open) and not self.restricted


def load_facts(caller: Caller, names: list[str]) -> dict[str, CallerFacts]:
    """Return the facts by full name, in one statement. Unknown names are left out."""
    parameters = {
        **rights_parameters(caller, unavailable=True),
        **facts_parameters(),
        "names": names,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, parameters)
        columns = [column.name for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return {row["full_name"]: _facts(row) for row in rows}


def _facts(row: dict[str, Any]) -> CallerFacts:
    row["readiness"] = readiness_from([row.pop(name) for name in COLUMNS])
    row["rules"] = tuple(RuleFact(**rule) for rule in row["rules"])
    row["grants"] = tuple(row["grants"])
    row["path"] = tuple((place["slug"], place["name"]) for place in row["path"])
    return CallerFacts(**row)


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
    stop: Stop | None = None
    if not facts.someone:
        stop = "nobody"
    elif any(_why_off(facts)):
        stop = "switched-off"
    elif not facts.allowed:
        stop = "application"
    return decide(
        RightsFacts(
            rules=facts.rules,
            grants=facts.grants,
            by_default=facts.opens_it,
            asks_first=facts.ai_access == "propose",
            stop=stop,
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
    if not facts.allowed:
        names = {"name": facts.integration, "application": facts.application}
        sentence = _("%(name)s is not allowed to the application %(application)s.") % names
        steps.append(ExplanationStep("application", sentence, "no"))
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
    names = {
        "space": rule.space_name,
        "target": target,
        "whom": _("members of %(group)s") % {"group": rule.group}
        if rule.group
        else rule.user or _("everyone"),
    }
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
    if facts.application == "":
        return _("There is no such application.")
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
