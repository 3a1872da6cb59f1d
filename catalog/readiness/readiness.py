"""Readiness of a tool: one of six states, each with its sentence, from facts that SQL reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from acl.rights.approvers import WhoApproves, who_approves_calls_of
from catalog.readiness.obstacles import Obstacle, obstacle_sql

SEVERAL = 2
_A_MINUTE = timedelta(minutes=1)


class Readiness(StrEnum):
    """The outcome of a call at this moment."""

    READY = "ready"
    ASKS_FIRST = "asks_first"
    NEEDS_YOU = "needs_you"
    NEEDS_ADMIN = "needs_admin"
    FAILING = "failing"
    DESCRIBED_ONLY = "described_only"


LABELS = {
    Readiness.READY: gettext_lazy("Ready"),
    Readiness.ASKS_FIRST: gettext_lazy("Asks first"),
    Readiness.NEEDS_YOU: gettext_lazy("Needs you"),
    Readiness.NEEDS_ADMIN: gettext_lazy("Needs an admin"),
    Readiness.FAILING: gettext_lazy("Failing"),
    Readiness.DESCRIBED_ONLY: gettext_lazy("Carried out by your application"),
}


@dataclass(frozen=True, slots=True)
class ToolReadiness:
    """The facts of one caller and tool, from which the state and its sentence follow."""

    asks_first: bool = False
    obstacle: Obstacle = Obstacle.NONE
    runs_here: bool = True  # False: the application that asked carries out the call
    failing_since: datetime | None = None
    failures: int = 0  # failed checks and calls in a row
    approver: WhoApproves = WhoApproves.ADMIN
    for_staff: bool = False  # the caller may open the admin pages

    @property
    def state(self) -> Readiness:
        """Return the state. What stops a call comes before what delays it."""
        if self.obstacle is Obstacle.FAILING:
            return Readiness.FAILING
        if self.obstacle is not Obstacle.NONE:
            mended = self.obstacle.mended_by_caller
            return Readiness.NEEDS_YOU if mended else Readiness.NEEDS_ADMIN
        if self.asks_first:
            return Readiness.ASKS_FIRST
        return Readiness.READY if self.runs_here else Readiness.DESCRIBED_ONLY

    @property
    def is_offered(self) -> bool:
        """Return True if a call would be carried out, now or after an approval."""
        return self.state not in {Readiness.NEEDS_YOU, Readiness.NEEDS_ADMIN, Readiness.FAILING}

    @property
    def runs_unasked(self) -> bool:
        """Return True if a call is carried out at once, by Pegboard or by who asked."""
        return self.is_offered and not self.asks_first

    @property
    def is_failing(self) -> bool:
        """Return True if its server failed when it was last asked."""
        return self.obstacle is Obstacle.FAILING

    @property
    def is_tried(self) -> bool:
        """Return True if a call is sent at least: a failing server may have recovered."""
        return self.is_offered or self.state is Readiness.FAILING

    @property
    def mark(self) -> str:
        """Return in brief what a model must know before a call, in English, or ""."""
        marks = ["asks first"] if self.asks_first else []
        if not self.is_tried:
            marks.append("cannot run now")
        if self.is_failing:
            with override("en"):
                age = self._failing_for.replace("\xa0", " ")
            marks.append(f"failing for {age}" if age else "failing")
        return ", ".join(marks)

    @property
    def reason(self) -> str:
        """Return why it is not simply ready, or ""."""
        return "" if self.state is Readiness.READY else self.sentence

    @property
    def label(self) -> str:
        """Return the state for a badge."""
        return str(LABELS[self.state])

    @property
    def sentence(self) -> str:
        """Return the reason in one sentence."""
        if self.obstacle is Obstacle.FAILING:
            return self._failing()
        if self.obstacle is not Obstacle.NONE:
            for_admins = _FOR_ADMINS.get(self.obstacle) if self.for_staff else None
            return str(for_admins or _OBSTACLES[self.obstacle])
        if self.asks_first:
            return self._asking()
        return str(_STATES[self.state])

    def _asking(self) -> str:
        approved = self.approver.of_each_call
        return approved if self.runs_here else f"{approved} {_CARRIED_OUT}"

    def _failing(self) -> str:
        if not (age := self._failing_for):
            return _("Its server is failing.")
        if self.failures < SEVERAL:
            return _("Its server has been failing for %(time)s.") % {"time": age}
        return _("Its server has been failing for %(time)s, %(count)s times in a row.") % {
            "time": age,
            "count": self.failures,
        }

    @property
    def _failing_for(self) -> str:
        if self.failing_since is None or timezone.now() - self.failing_since < _A_MINUTE:
            return ""
        return timesince(self.failing_since, depth=1)


_STATES = {
    Readiness.READY: gettext_lazy("It runs without asking."),
    Readiness.DESCRIBED_ONLY: gettext_lazy(
        "Pegboard only describes it: your application carries out its calls."
    ),
}
_CARRIED_OUT = gettext_lazy("Your application carries it out.")
_OBSTACLES = {
    Obstacle.NOT_CONFIRMED: gettext_lazy("It was imported, and an admin must confirm it first."),
    Obstacle.NOT_CONNECTED: gettext_lazy("Its server is not connected. An admin can connect it."),
    Obstacle.OWN_SECRET: gettext_lazy("It needs a secret from you."),
    Obstacle.SHARED_SECRET: gettext_lazy("It needs a secret that an admin must set."),
    Obstacle.OWN_ACCOUNT: gettext_lazy("It needs you to connect your account."),
    Obstacle.SHARED_ACCOUNT: gettext_lazy("It needs an account that an admin must connect."),
    Obstacle.NOT_ALLOWED: gettext_lazy("Pegboard may not start it. An admin can change that."),
    Obstacle.NOT_AVAILABLE: gettext_lazy("It is not available."),
}

# An admin is not told to ask one: the link beside the sentence is the way on.
_FOR_ADMINS = {
    Obstacle.NOT_CONFIRMED: gettext_lazy("It was imported: confirm it first."),
    Obstacle.NOT_CONNECTED: gettext_lazy("Its server is not connected."),
    Obstacle.SHARED_SECRET: gettext_lazy("Its shared secret is not set."),
    Obstacle.SHARED_ACCOUNT: gettext_lazy("Its shared account is not connected."),
    Obstacle.NOT_ALLOWED: gettext_lazy("Pegboard may not start it."),
}


# Links to the pages where the reader can mend what keeps a tool from running.

LONGEST_WISH = 200
MEND_HELP = "The path of the page where the caller can mend it, or empty."


@dataclass(frozen=True, slots=True)
class MendLink:
    """The path of a page, and the text of the link to it."""

    path: str
    label: str


def mend_link(
    readiness: ToolReadiness, *, integration: str, full_name: str, about_other: bool = False
) -> MendLink | None:
    """Return the link to the page where the state can be mended; None if the reader cannot.

    The reader is the tool's caller. `about_other` is True if an admin reads about someone else,
    whose own secrets and accounts only that person can set.
    """
    state = readiness.state
    if state is Readiness.NEEDS_YOU:
        link = MendLink(reverse("my-secret", args=[integration]), _("Set up your connection"))
        return None if about_other else link
    if state not in {Readiness.NEEDS_ADMIN, Readiness.FAILING}:
        return None
    if readiness.for_staff or about_other:
        if readiness.obstacle is Obstacle.NOT_CONFIRMED:
            return MendLink(
                reverse("integration-confirm", args=[integration]), _("Review the import")
            )
        return MendLink(reverse("integration", args=[integration]), _("Open integration"))
    # A failing server is probed again anyway: nobody else has to do anything.
    return None if state is Readiness.FAILING else _for_member(readiness, full_name)


def _for_member(readiness: ToolReadiness, full_name: str) -> MendLink:
    wish = f"{full_name}: {readiness.sentence}"[:LONGEST_WISH]
    return MendLink(f"{reverse('requests')}?{urlencode({'wish': wish})}", _("Ask an admin"))


def path_of(link: MendLink | None) -> str:
    """Return the path of a link, or ""."""
    return link.path if link else ""


# From this confidence a tool of an untrusted server that reads may run without approval.
SURE = 0.8

# Approval policy: the calls that a person must approve, by rights and by PEGBOARD_APPROVE.

# Effects that each value of PEGBOARD_APPROVE asks for, besides what the rights ask for. An unknown
# effect counts as a write.
_ASKED = {
    "propose": [],
    "delete": ["delete"],
    "write": ["unknown", "write", "delete"],
    "all": ["read", "unknown", "write", "delete"],
}


def asks_first_sql(*, mode: str, capability: str, integration: str) -> str:
    """Return true where a person approves each call: by the rights' mode, or by the effect.

    Needs the parameters of `policy_parameters`.
    """
    return _ASKS_FIRST.format(
        mode=mode,
        c=capability,
        i=integration,
        sure=SURE,
        trusted=_TRUSTED.format(i=integration),
        corrected=_EVIDENCE.format(c=capability, parts=_BY_ADMIN),
        named_delete=_EVIDENCE.format(c=capability, parts=_NAMED_DELETE),
    )


def policy_parameters() -> dict[str, Any]:
    """Return the deployment's policy as parameters of `asks_first_sql`."""
    trusted = settings.PEGBOARD_TRUSTED_SERVERS
    return {
        "asked_effects": _ASKED[settings.PEGBOARD_APPROVE],
        "trusted": list(trusted),
        "all_trusted": "*" in trusted,
    }


# A tool of a server reads only if its words say so with enough confidence: annotations alone never
# reach that. A server that the operator trusts may say so, and an admin's word stands.
_ASKS_FIRST = """({mode} = 1 OR CASE
    WHEN {i}.kind NOT IN ('mcp', 'openapi') OR ({c}.effect_confidence >= {sure} AND NOT {trusted})
      THEN {c}.side_effect
    WHEN {corrected} THEN {c}.side_effect
    WHEN {trusted} THEN CASE {c}.annotations ->> 'readOnlyHint' WHEN 'true' THEN 'read'
      ELSE {c}.side_effect END
    WHEN {named_delete} THEN 'delete'
    WHEN {c}.side_effect = 'read' THEN 'write'
    ELSE {c}.side_effect END = ANY (%(asked_effects)s::text[]))"""
_TRUSTED = "(%(all_trusted)s::bool OR {i}.slug = ANY (%(trusted)s::text[]))"
_EVIDENCE = """({c}.effect_evidence @> '{{"side_effect": [{{{parts}}}]}}'::jsonb)"""
_BY_ADMIN = '"source": "admin"'
_NAMED_DELETE = '"source": "name", "says": "delete"'


# Names of the columns, in order.
COLUMNS = ("asks_first", "obstacle", "runs_here", "failing_since", "failures", "for_staff")
# The mode of a row `c` in statements that show few of the usable rows: a set, not a join.
MODE_OF_ROW = "(CASE WHEN c.id IN (SELECT id FROM usable WHERE mode = 1) THEN 1 ELSE 2 END)"
_own_tools: list[str] = []


def facts_sql(
    *, mode: str, capability: str = "c", integration: str = "i", user: str = "%(user)s::bigint"
) -> str:
    """Return the columns, over a row of capabilities joined with its integration.

    `mode` is that of the rights; `user` is the person whose own secrets and accounts count.
    """
    asks_first = asks_first_sql(mode=mode, capability=capability, integration=integration)
    obstacle = obstacle_sql(integration=integration, user=user)
    runs_here = runs_here_sql(capability, integration)
    return (
        f"{asks_first} AS asks_first, CASE WHEN {capability}.available THEN {obstacle}"
        f" ELSE {int(Obstacle.NOT_AVAILABLE)} END AS obstacle, {runs_here} AS runs_here,"
        f" {integration}.failing_since, {integration}.failures, {for_staff_sql(user)} AS for_staff"
    )


def runs_here_sql(capability: str, integration: str) -> str:
    """Return true where Pegboard carries out the call; otherwise it only describes the tool."""
    return _RUNS_HERE.format(c=capability, i=integration)


def for_staff_sql(user: str) -> str:
    """Return true where the person may open the admin pages: once for the statement, not by row."""
    return f"COALESCE((SELECT is_staff FROM auth_user WHERE id = {user}), false)"  # noqa: S608


def facts_parameters() -> dict[str, Any]:
    """Return the parameters of `facts_sql` beside those of the rights."""
    return {**policy_parameters(), "own_tools": _own_tools}


def readiness_from(values: Sequence[Any]) -> ToolReadiness:
    """Return the readiness from the columns of one row."""
    asks_first, obstacle, runs_here, failing_since, failures, for_staff = values
    return ToolReadiness(
        bool(asks_first),
        Obstacle(obstacle),
        bool(runs_here),
        failing_since,
        failures,
        for_staff=bool(for_staff),
    )


def tell_approvers(
    readinesses: Sequence[ToolReadiness], user_id: int, *, alone: bool = False
) -> list[ToolReadiness]:
    """Return them with who may approve the user's calls.

    It is the same for all tools: one statement if any of them asks first, otherwise none. `alone`
    as in `who_approves_calls_of`.
    """
    if not any(readiness.state is Readiness.ASKS_FIRST for readiness in readinesses):
        return list(readinesses)
    who = who_approves_calls_of(user_id, alone=alone)
    return [replace(readiness, approver=who) for readiness in readinesses]


def register_own_tools(names: Sequence[str]) -> None:
    """Register the built-in tools that Pegboard answers or runs itself."""
    _own_tools[:] = names


# A server or Pegboard runs a tool, Pegboard returns a skill or answers itself; the application
# carries out all else.
_RUNS_HERE = """({c}.kind = 'skill' OR ({i}.kind IN ('mcp', 'openapi') AND {i}.transport <> '')
    OR ({i}.kind = 'builtin' AND {c}.full_name = ANY (%(own_tools)s::text[])))"""
