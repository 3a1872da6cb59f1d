"""Every worked case, by the statement, the decision, the oracle, Explain, holders and warnings."""

import re
from dataclasses import replace

import pytest

from acl.rights.caller_lookup import Caller
from catalog.access._explanation_steps import load_facts, resolve
from catalog.access.explanation import (
    Explanation,
    ExplanationStep,
    explain,
    explain_own,
    list_holders,
)
from catalog.access.rules import RuleConflict, find_warnings
from catalog.models import Capability, Rule
from tests.access.worked_cases import CASES, UNITED_CASES, Case, UnitedCase
from tests.access.worlds import store, usable
from tests.docs.rights_page import PAGES, render_access
from tests.oracle import (
    ALLOW,
    DENY,
    PROPOSE,
    CapabilityFacts,
    GrantFacts,
    IntegrationFacts,
    RuleFacts,
    World,
)

ALICE, BOB = 1, 2
USERS = {"alice": ALICE, "bob": BOB}
GROUPS = {"support": 1, "interns": 2, "finance": 3}
RULED = {"root": 10, "department": 11, "project": 12, "interns": 20}
SPACES = {**RULED, "a space of interns": 20, "no space": None}
GMAIL, SEND, SEARCH = 1, 1, 2
TARGETS = {
    "gmail": {"integration": GMAIL},
    "gmail__send_email": {"capability": SEND},
    "gmail__search": {"capability": SEARCH},
}
EFFECTS = {"deny": DENY, "propose": PROPOSE, "allow": ALLOW}


def phrases(cell: str) -> list[str]:
    return [phrase.strip() for phrase in cell.split(";") if phrase.strip()]


def subject(name: str) -> dict[str, int]:
    return {"user": USERS[name]} if name in USERS else {"group": GROUPS[name]}


def ordinary_world() -> World:
    """Return the world in which every case begins."""
    return World(
        users={ALICE: True, BOB: True},
        groups=dict.fromkeys(GROUPS.values(), False),
        members={(ALICE, GROUPS["support"]), (ALICE, GROUPS["interns"]), (BOB, GROUPS["support"])},
        spaces={10: (1, None), 11: (1, 10), 12: (1, 11), 20: (2, None)},
        integrations={GMAIL: IntegrationFacts()},
        capabilities={SEND: CapabilityFacts(GMAIL), SEARCH: CapabilityFacts(GMAIL)},
    )


def lay_down(world: World, phrase: str) -> None:
    space, effect, target, *name = re.split(r": | for | ", phrase)
    about = subject(name[0]) if name else {}
    world.rules.add(RuleFacts(RULED[space], EFFECTS[effect], **about, **TARGETS[target]))


def change(world: World, phrase: str) -> None:
    integration, send = world.integrations[GMAIL], world.capabilities[SEND]
    match phrase.split(" ", 1):
        case ["gmail", "is disabled"]:
            world.integrations[GMAIL] = replace(integration, enabled=False)
        case ["gmail", "is restricted"]:
            world.integrations[GMAIL] = replace(integration, restricted=True)
        case ["gmail__send_email", "asks first"]:
            world.capabilities[SEND] = replace(send, ai_access="propose")
        case ["gmail__send_email", "is blocked"]:
            world.capabilities[SEND] = replace(send, ai_access="blocked")
        case ["gmail__send_email", "is unavailable"]:
            world.capabilities[SEND] = replace(send, available=False)
        case ["gmail__send_email", "is quarantined"]:
            world.capabilities[SEND] = replace(send, approved=False)
        case ["support", "is open"]:
            world.groups[GROUPS["support"]] = True
        case ["alice", "is inactive"]:
            world.users[ALICE] = False
        case ["interns", "is open"]:
            world.groups[GROUPS["interns"]] = True
        case ["alice", "is not in interns"]:
            world.members.remove((ALICE, GROUPS["interns"]))
        case ["alice", "is not in support"]:
            world.members.remove((ALICE, GROUPS["support"]))
        case _:
            raise ValueError(f"a case says something new: {phrase}")


SURPRISES = {case.number for case in CASES if case.surprise}
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"case {case.number}")


def situation(case: Case | UnitedCase) -> World:
    """Store the world of a case, and return it."""
    world = ordinary_world()
    for phrase in phrases(case.given):
        what, whom = phrase.split(" to ")
        world.grants.add(GrantFacts(**TARGETS[what], **subject(whom)))
    for phrase in phrases(case.rules):
        lay_down(world, phrase)
    for phrase in phrases(case.but):
        if not phrase.startswith("asks in "):
            change(world, phrase)
    store(world)
    return world


def alice_in(case: Case) -> Caller:
    places = [phrase for phrase in phrases(case.but) if phrase.startswith("asks in ")]
    place = places[0].removeprefix("asks in ") if places else "project"
    return Caller(ALICE, GROUPS["support"], SPACES[place])


@pytest.mark.django_db
@every_case
def test_statement_decision_and_oracle_give_the_answer(case: Case) -> None:
    world, caller = situation(case), alice_in(case)

    by_statement = usable(caller).get(SEND, "no")
    by_decision = resolve(load_facts(caller, [name_of(SEND)])[name_of(SEND)]).decision

    assert by_statement == by_decision == world.answer(caller, SEND) == case.answer


@pytest.mark.django_db
@every_case
def test_explain_says_the_same_and_by_what(case: Case) -> None:
    situation(case)

    found = explained(alice_in(case))

    assert found.decision == case.answer
    assert [in_short(step) for step in found.steps if step.decides] == [case.decides]
    assert [in_short(step) for step in found.beaten] == phrases(case.beaten)
    assert {warning.case for warning in found.warnings} == {case.number} & SURPRISES
    assert len(found.advice) == len(found.warnings)
    # What a step says of grants is so: "nothing grants it" never stands below a grant.
    is_granted = any(step.kind == "grant" for step in found.steps)
    assert not (is_granted and any("nothing grants" in step.sentence for step in found.steps))


@pytest.mark.django_db
@every_case
def test_alice_is_told_only_of_what_she_knows(case: Case) -> None:
    situation(case)

    own = explain_own(caller=alice_in(case), full_name=name_of(SEND))

    # What is unavailable is on her page, too; what she may not use is as if it were not there.
    if case.answer == "no" and "is unavailable" not in case.but:
        assert own is None
    else:
        assert own == explained(alice_in(case))


@pytest.mark.django_db
@pytest.mark.parametrize("number", [case.number for case in CASES if case.beaten])
@pytest.mark.parametrize("newest_first", [False, True])
def test_new_rule_is_warned_about_if_the_case_surprises(number: int, newest_first: bool) -> None:
    situation(CASES[number - 1])
    rules = list(Rule.objects.order_by("-pk" if newest_first else "pk"))
    new = rules.pop()
    new.delete()

    warnings = find_warnings(
        space=new.space,
        effect=new.effect,
        integration=new.integration,
        capability=new.capability,
        user=new.user,
        group=new.group,
    )

    assert {warning.case for warning in warnings} == {number} & SURPRISES
    for warning in warnings:
        assert_that_it_names_both(warning, CASES[number - 1])


def assert_that_it_names_both(warning: RuleConflict, case: Case) -> None:
    """Check that the warning says "“rule” … overrides “rule”", in this order."""
    sentence = warning.sentence
    for name in sorted(WORDS, key=len, reverse=True):
        sentence = sentence.replace(name, WORDS[name])
    winner, loser = sentence.split(" overrides ")
    assert f"“{case.decides.partition(': ')[2]}”" in winner
    assert f"“{case.beaten.partition(': ')[2]}”" in loser


@pytest.mark.django_db
@every_case
def test_holders_name_what_decides(case: Case) -> None:
    situation(case)
    caller = alice_in(case)

    # A space without a rule of its own answers as the one above it.
    ruled = set(Rule.objects.values_list("space__slug", flat=True))
    path = [place.slug for place in explained(caller).path] or [""]
    place = next((slug for slug in path if slug in ruled), path[-1])
    found = list_holders(capability=Capability.objects.get(pk=SEND)).items
    rows = {(holder.user, holder.group, holder.space): holder for holder in found}
    row = rows.get(("user-1", "group-1", place))

    assert (row.decision if row else "no") == case.answer
    if row and case.decides != "own":
        assert in_short(row.ground) == case.decides


def name_of(capability: int) -> str:
    return Capability.objects.get(pk=capability).full_name


def explained(caller: Caller) -> Explanation:
    found = explain(caller=caller, full_name=name_of(SEND))
    assert found is not None
    return found


def in_short(step: ExplanationStep) -> str:
    """A rule in the words of the cases, anything else by its kind."""
    if step.kind != "rule":
        return step.kind
    effect = "deny" if step.effect == "no" else step.effect
    whom = "" if step.subject_kind == "everyone" else f" for {WORDS[step.subject]}"
    return f"{WORDS[step.space]}: {effect} {WORDS[step.target]}{whom}"


WORDS = {
    **{f"space-{pk}": name for name, pk in RULED.items()},
    **{f"group-{pk}": name for name, pk in GROUPS.items()},
    **{f"user-{pk}": name for name, pk in USERS.items()},
    f"integration-{GMAIL}": "gmail",
    f"integration-{GMAIL}__action_{SEND}": "gmail__send_email",
    f"integration-{GMAIL}__action_{SEARCH}": "gmail__search",
}


@pytest.mark.django_db
@pytest.mark.parametrize("case", UNITED_CASES, ids=lambda case: f"case U{case.number}")
def test_several_groups_unite_their_answers(case: UnitedCase) -> None:
    world, space = situation(case), SPACES[case.place]
    first = GROUPS["interns"] if case.place == "a space of interns" else GROUPS["support"]
    caller = Caller(ALICE, first, space, (GROUPS["support"] + GROUPS["interns"] - first,))

    assert usable(caller).get(SEND, "no") == world.answer(caller, SEND) == case.answer


def test_cases_are_numbered_without_gaps() -> None:
    assert [case.number for case in CASES] == list(range(1, len(CASES) + 1))
    assert [case.number for case in UNITED_CASES] == list(range(1, len(UNITED_CASES) + 1))


def test_page_shows_the_precedence_and_the_cases() -> None:
    for page in PAGES:
        assert page.read_text("utf-8") == render_access(page), "run python -m tests.docs"
