"""Worked cases of rights: data for the tests and for the tables of docs/access-cases.md.

alice works in the group support, which is allow-listed and has the spaces root, below it
department, below it project; she is also in interns. She asks in project about gmail__send_email;
gmail__search is the integration's other tool. After a change: `python -m tests.docs`.
"""

from dataclasses import dataclass
from typing import Literal

Answer = Literal["no", "propose", "allow"]


@dataclass(frozen=True, slots=True)
class Case:
    """A situation in phrases separated by "; ", the answer, and what Explain says of it."""

    number: int
    answer: Answer
    decides: str  # nobody, switched-off, grant, default or own; or a rule, as in `rules`
    given: str = ""
    rules: str = ""
    but: str = ""
    beaten: str = ""  # rules with another effect than the one that decides
    surprise: str = ""  # advice for people; Explain and the rule form warn of this case


@dataclass(frozen=True, slots=True)
class UnitedCase:
    """A situation with the joint rights of support and interns."""

    number: int
    answer: Answer
    place: str = "project"
    given: str = ""
    rules: str = ""
    but: str = ""


MAIL = "gmail to support"
CASES = (
    Case(1, "no", "default"),
    Case(2, "allow", "grant", MAIL),
    Case(3, "allow", "grant", "gmail to alice"),
    Case(4, "allow", "grant", "gmail__send_email to support"),
    Case(5, "no", "default", "gmail__search to support"),
    Case(6, "no", "default", "gmail to interns"),
    Case(7, "propose", "own", MAIL, but="gmail__send_email asks first"),
    Case(8, "no", "switched-off", MAIL, but="gmail__send_email is blocked"),
    Case(9, "no", "switched-off", MAIL, but="gmail__send_email is unavailable"),
    Case(
        10,
        "no",
        "switched-off",
        "gmail to support; gmail__send_email to alice",
        but="gmail__send_email is quarantined",
    ),
    Case(11, "no", "switched-off", MAIL, "project: allow gmail", "gmail is disabled"),
    Case(12, "no", "nobody", MAIL, but="alice is inactive"),
    Case(13, "no", "nobody", "gmail to support; gmail to alice", but="alice is not in support"),
    Case(14, "no", "nobody", "gmail to support; gmail to alice", but="asks in a space of interns"),
    Case(15, "allow", "default", but="support is open"),
    Case(16, "no", "default", but="support is open; gmail is restricted"),
    Case(17, "allow", "grant", MAIL, but="support is open; gmail is restricted"),
    Case(18, "allow", "project: allow gmail", rules="project: allow gmail"),
    Case(19, "no", "default", rules="project: allow gmail", but="asks in department"),
    Case(20, "allow", "root: allow gmail", rules="root: allow gmail"),
    Case(21, "no", "root: deny gmail", MAIL, "root: deny gmail", "asks in no space"),
    Case(
        22,
        "allow",
        "department: allow gmail",
        rules="root: deny gmail; department: allow gmail",
        beaten="root: deny gmail",
    ),
    Case(
        23,
        "no",
        "department: deny gmail",
        rules="root: allow gmail; department: deny gmail",
        beaten="root: allow gmail",
    ),
    Case(
        24,
        "no",
        "project: deny gmail",
        rules="project: allow gmail; project: deny gmail",
        beaten="project: allow gmail",
    ),
    Case(
        25,
        "propose",
        "project: propose gmail",
        rules="project: allow gmail; project: propose gmail",
        beaten="project: allow gmail",
    ),
    Case(
        26,
        "no",
        "project: deny gmail",
        rules="project: propose gmail; project: deny gmail",
        beaten="project: propose gmail",
    ),
    Case(
        27,
        "no",
        "project: deny gmail",
        rules="project: deny gmail; project: allow gmail__send_email",
        beaten="project: allow gmail__send_email",
        surprise="*Deny gmail* and *allow gmail__send_email* **in one space**: both are out. Grant "
        "only the capability, or allow it in a space below.",
    ),
    Case(
        28,
        "no",
        "project: deny gmail__send_email",
        rules="project: allow gmail; project: deny gmail__send_email",
        beaten="project: allow gmail",
    ),
    Case(
        29,
        "allow",
        "project: allow gmail__send_email",
        rules="department: deny gmail; project: allow gmail__send_email",
        beaten="department: deny gmail",
    ),
    Case(
        30,
        "allow",
        "project: allow gmail",
        rules="root: deny gmail__send_email; project: allow gmail",
        beaten="root: deny gmail__send_email",
        surprise="An allow in a near space beats a deny above, even a more specific one. Deny it "
        "in the near space too.",
    ),
    Case(
        31,
        "no",
        "project: deny gmail",
        rules="project: deny gmail; project: allow gmail for alice",
        beaten="project: allow gmail for alice",
        surprise="*Deny for everyone* and *allow for alice* in one space: alice is denied too. "
        "Grant it only to those who may have it, or allow it for alice in a space below.",
    ),
    Case(32, "allow", "grant", MAIL, "project: deny gmail for bob"),
    Case(33, "no", "project: deny gmail for interns", MAIL, "project: deny gmail for interns"),
    Case(34, "allow", "grant", MAIL, "project: deny gmail for finance"),
    Case(35, "no", "root: deny gmail", "gmail__send_email to alice", "root: deny gmail"),
    Case(36, "propose", "project: propose gmail", rules="project: propose gmail"),
    Case(
        37,
        "propose",
        "own",
        rules="project: allow gmail__send_email",
        but="gmail__send_email asks first",
    ),
)

THEIRS, BOTH = "gmail to interns", "gmail to support; gmail to interns"
UNITED_CASES = (
    UnitedCase(1, "allow", "no space", MAIL),
    UnitedCase(2, "allow", "no space", THEIRS),
    UnitedCase(3, "no", "no space", "gmail to finance"),
    UnitedCase(4, "no", "no space"),
    UnitedCase(5, "no", "no space", MAIL, "root: deny gmail"),
    UnitedCase(6, "allow", "no space", BOTH, "root: deny gmail"),
    UnitedCase(7, "no", "project", THEIRS, "project: deny gmail"),
    UnitedCase(8, "no", "project", THEIRS, "department: deny gmail"),
    UnitedCase(9, "allow", "project", THEIRS, "department: deny gmail; project: allow gmail"),
    UnitedCase(10, "propose", "project", THEIRS, "project: propose gmail"),
    UnitedCase(11, "allow", "project", MAIL, "interns: deny gmail"),
    UnitedCase(12, "allow", "no space", THEIRS, "root: propose gmail"),
    UnitedCase(13, "allow", "project", but="interns is open"),
    UnitedCase(14, "no", "project", THEIRS, but="alice is not in interns"),
    UnitedCase(15, "no", "a space of interns", MAIL, "interns: deny gmail"),
    UnitedCase(16, "allow", "no space", "gmail to alice", "root: deny gmail"),
    UnitedCase(
        17,
        "propose",
        "project",
        THEIRS,
        "project: propose gmail; project: allow gmail__send_email",
    ),
    UnitedCase(18, "allow", "project", THEIRS, "project: deny gmail__search"),
    UnitedCase(19, "no", "project", THEIRS, but="alice is not in support"),
    UnitedCase(20, "allow", "project", THEIRS, "project: deny gmail for bob"),
)
