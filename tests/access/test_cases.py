"""Every row of the table in `docs/access.md`, by the statement, by the oracle and by Explain."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acl.rights.caller import Caller
from catalog.access.explanation import Explanation, Step, explain, explain_own
from catalog.models import Capability
from tests.access.worlds import store, usable
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

DOCUMENT = Path(__file__).parents[2] / "docs" / "access.md"
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


def rows() -> list[Any]:
    """The table's rows: number, given, rules, but, answer."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCUMENT.read_text().splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    return [pytest.param(int(row[0]), *row[1:], id=f"case {row[0]}") for row in cells]


def phrases(cell: str) -> list[str]:
    return [phrase.strip() for phrase in cell.split(";") if phrase.strip()]


def subject(name: str) -> dict[str, int]:
    return {"user": USERS[name]} if name in USERS else {"group": GROUPS[name]}


def ordinary_world() -> World:
    """What the paragraph above the table says."""
    return World(
        users={ALICE: True, BOB: True},
        groups=dict.fromkeys(GROUPS.values(), False),
        members={(ALICE, GROUPS["support"]), (ALICE, GROUPS["interns"]), (BOB, GROUPS["support"])},
        spaces={10: (1, None), 11: (1, 10), 12: (1, 11), 20: (2, None)},
        integrations={GMAIL: IntegrationFacts()},
        capabilities={SEND: CapabilityFacts(GMAIL), SEARCH: CapabilityFacts(GMAIL)},
    )


def give(world: World, phrase: str) -> None:
    what, whom = phrase.split(" to ")
    world.grants.add(GrantFacts(**TARGETS[what], **subject(whom)))


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
            raise ValueError(f"the table says something new: {phrase}")


# What decides each case, and the rules that it beats, by effect, space and target.
DECIDES = {
    **dict.fromkeys((1, 5, 6, 16, 19), "default no"),
    **dict.fromkeys((2, 3, 4, 17, 32, 34), "grant allow"),
    7: "own propose",
    **dict.fromkeys((8, 9, 10, 11), "switched-off no"),
    **dict.fromkeys((12, 13, 14), "nobody no"),
    15: "default allow",
    18: "rule allow integration 12",
    **dict.fromkeys((20,), "rule allow integration 10"),
    **dict.fromkeys((21, 35), "rule no integration 10"),
    22: "rule allow integration 11",
    23: "rule no integration 11",
    **dict.fromkeys((24, 26, 27, 31, 33), "rule no integration 12"),
    28: "rule no capability 12",
    29: "rule allow capability 12",
    30: "rule allow integration 12",
    **dict.fromkeys((25, 36), "rule propose integration 12"),
    37: "own propose",
}
BEATEN = {
    22: ["no integration 10"],
    23: ["allow integration 10"],
    24: ["allow integration 12"],
    25: ["allow integration 12"],
    26: ["propose integration 12"],
    27: ["allow capability 12"],
    28: ["allow integration 12"],
    29: ["no integration 11"],
    30: ["no capability 10"],
    31: ["allow integration 12"],
}
SURPRISES = {27, 30, 31}
all_cases = pytest.mark.parametrize(("number", "given", "rules", "but", "answer"), rows())


def asked(given: str, rules: str, but: str) -> tuple[World, Caller]:
    """The world that the row describes, stored, and alice in it."""
    world, space = ordinary_world(), SPACES["project"]
    for phrase in phrases(given):
        give(world, phrase)
    for phrase in phrases(rules):
        lay_down(world, phrase)
    for phrase in phrases(but):
        if phrase.startswith("asks in "):
            space = SPACES[phrase.removeprefix("asks in ")]
        else:
            change(world, phrase)
    store(world)
    return world, Caller(ALICE, GROUPS["support"], space)


@pytest.mark.django_db
@all_cases
def test_alice_may_what_the_document_says(
    number: int, given: str, rules: str, but: str, answer: str
) -> None:
    world, caller = asked(given, rules, but)

    assert usable(caller).get(SEND, "no") == world.answer(caller, SEND) == answer


@pytest.mark.django_db
@all_cases
def test_explain_says_the_same_and_by_what(
    number: int, given: str, rules: str, but: str, answer: str
) -> None:
    _, caller = asked(given, rules, but)

    found = explained(caller)

    assert found.decision == answer
    assert [in_short(found, step) for step in found.steps if step.decides] == [DECIDES[number]]
    beaten = [in_short(found, step).removeprefix("rule ") for step in found.beaten]
    assert beaten == BEATEN.get(number, [])
    assert {warning.case for warning in found.warnings} == {number} & SURPRISES
    assert len(found.advice) == len(found.warnings)


@pytest.mark.django_db
@all_cases
def test_alice_is_told_only_of_what_she_knows(
    number: int, given: str, rules: str, but: str, answer: str
) -> None:
    _, caller = asked(given, rules, but)

    own = explain_own(caller=caller, full_name=name_of(SEND))

    # What is unavailable is on her page, too; what she may not use is as if it were not there.
    if answer == "no" and number != 9:
        assert own is None
    else:
        assert own == explained(caller)


def name_of(capability: int) -> str:
    return Capability.objects.get(pk=capability).full_name


def explained(caller: Caller) -> Explanation:
    found = explain(caller=caller, full_name=name_of(SEND))
    assert found is not None
    return found


def in_short(found: Explanation, step: Step) -> str:
    if step.kind != "rule":
        return f"{step.kind} {step.effect}"
    return f"rule {step.effect} {step.target_kind} {step.space.removeprefix('space-')}"


def test_the_document_has_all_cases() -> None:
    assert [row.id for row in rows()] == [f"case {number}" for number in range(1, 38)]
    assert [row.id for row in united_rows()] == [f"case U{number}" for number in range(1, 21)]


def united_rows() -> list[Any]:
    """The rows of the table about several groups: given, rules, but, asks in, answer."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCUMENT.read_text().splitlines()
        if re.match(r"\| U\d+ \|", line)
    ]
    return [pytest.param(*row[1:], id=f"case {row[0]}") for row in cells]


@pytest.mark.django_db
@pytest.mark.parametrize(("given", "rules", "but", "place", "answer"), united_rows())
def test_several_groups_answer_what_the_document_says(
    given: str, rules: str, but: str, place: str, answer: str
) -> None:
    world, _ = asked(given, rules, but)
    space = SPACES[place]
    first = GROUPS["interns"] if place == "a space of interns" else GROUPS["support"]
    caller = Caller(ALICE, first, space, (GROUPS["support"] + GROUPS["interns"] - first,))

    assert usable(caller).get(SEND, "no") == world.answer(caller, SEND) == answer
