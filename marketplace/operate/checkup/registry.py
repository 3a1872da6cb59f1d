"""Registry of the checks that `/readyz`, `manage.py doctor` and the page Health go through.

A check is a function marked with `@check` in a module of `marketplace.operate.checkup.checks`. It
returns a finding in the language in force. What it raises is a finding, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from acl.platform.open_registry import modules_of

OK, ADVICE, PROBLEM = "ok", "advice", "problem"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Outcome of a check: a problem with the way out, a note on what works less, and figures.

    Advice is a problem that costs nothing yet.
    """

    problem: str = ""
    remedy: str = ""
    note: str = ""
    figures: Mapping[str, int] = field(default_factory=dict)
    is_advice: bool = False

    @property
    def state(self) -> str:
        """Return `ok`, `advice` or `problem`."""
        if not self.problem:
            return OK
        return ADVICE if self.is_advice else PROBLEM

    def as_json(self, *, in_full: bool) -> dict[str, Any]:
        """Return the finding for programs, with details if `in_full`."""
        state: dict[str, Any] = {"ok": self.state != PROBLEM}
        if not in_full:
            return state
        texts = {"remedy": self.remedy, "note": self.note}
        texts = {name: text for name, text in texts.items() if text}
        return state | {"problem": self.problem} | texts | dict(self.figures)


Look = Callable[[], CheckFinding]


@dataclass(frozen=True, slots=True)
class InstallationCheck:
    """A check: its name for programs, its label for people, and the section of the docs.

    `/readyz`, which is asked every few seconds, takes those that are `for_readiness`.
    """

    name: str
    label: str | Promise
    topic: str
    for_readiness: bool
    look: Look
    goes_out: bool = False  # to other servers than those that Pegboard always works with

    @property
    def page(self) -> str:
        """Return the page of the docs."""
        return self.topic.partition("#")[0]

    @property
    def heading(self) -> str:
        """Return the heading on that page, as the end of an address."""
        return self.topic[len(self.page) :]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its finding."""

    check: InstallationCheck
    finding: CheckFinding

    @property
    def state(self) -> str:
        """Return the state of the finding, by which pages choose colour and icon."""
        return self.finding.state


_registered: dict[str, InstallationCheck] = {}


def check(
    name: str,
    label: str | Promise,
    *,
    topic: str,
    for_readiness: bool = False,
    goes_out: bool = False,
) -> Callable[[Look], Look]:
    """Register the decorated function as a check."""

    def register(look: Look) -> Look:
        if name in _registered:
            raise ValueError(f"There are two checks named {name}.")
        _registered[name] = InstallationCheck(name, label, topic, for_readiness, look, goes_out)
        return look

    return register


@cache
def all_checks() -> tuple[InstallationCheck, ...]:
    """Return all checks, in the order of their modules."""
    modules_of("marketplace.operate.checkup.checks")
    return tuple(_registered.values())


def run_checks(*, for_readiness: bool = False, may_go_out: bool = True) -> list[CheckResult]:
    """Run the checks: all, those that `/readyz` asks for, or those that ask no other server."""
    checks = [
        candidate
        for candidate in all_checks()
        if (candidate.for_readiness or not for_readiness) and (may_go_out or not candidate.goes_out)
    ]
    return [CheckResult(candidate, _run(candidate)) for candidate in checks]


def _run(installation_check: InstallationCheck) -> CheckFinding:
    try:
        return installation_check.look()
    except (OperationalError, InterfaceError):
        return CheckFinding(
            _("The database does not respond."),
            _("Start it, or correct DATABASE_URL. Pegboard goes on as soon as it answers."),
        )
    except DatabaseError:
        return CheckFinding(_("The database has no tables yet."), _("Run `manage.py set_up`."))
    except Exception as error:
        log.exception("a check failed", check=installation_check.name)
        return CheckFinding(
            _("This could not be checked: %(error)s")
            % {"error": str(error) or type(error).__name__},
            _("The log has the details. Please report it with them."),
        )
