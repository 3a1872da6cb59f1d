"""Risks that an admin can lower: who holds all three, cells, networks, the guard, definitions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from acl.models import AuditEntry
from acl.platform.answer_model import Answer, Shown
from acl.platform.database_connections import rows_of
from catalog.access.flow_exposure import ExposureReport, find_exposures
from catalog.models import Integration, OutgoingHost
from catalog.registration.definition_comparison import DIFFERENCES
from catalog.servers.cell.report import CellReport, read_report
from catalog.servers.client.launch_rules import is_container

DAYS = 30
MOST = 50
# Of programs: all of them are read, since a container is told by its command.
_MOST_PROGRAMS = 5_000
ProgramKind = Literal["no_cell", "container", "whole_network"]
# What became of a call that the guard asked about. `recorded`: its mode lets it run.
GuardOutcome = Literal["recorded", "waiting", "approved", "rejected", "refused"]
OUTCOMES: tuple[GuardOutcome, ...] = ("recorded", "waiting", "approved", "rejected", "refused")


@dataclass(frozen=True, slots=True)
class RiskyProgram:
    """An integration whose program is not kept apart as a cell with listed hosts would."""

    title: str
    slug: str
    kind: ProgramKind
    enabled: bool


@dataclass(frozen=True, slots=True)
class GuardedCall(Answer):
    """Call with an objection of the guard."""

    at: datetime
    full_name: str
    user: str
    group: str
    cause: str
    outcome: Annotated[GuardOutcome, Shown(choices=OUTCOMES)]


@dataclass(frozen=True, slots=True)
class ChangedDefinitions:
    """Tools whose definitions one reading of a server found to differ; `kinds` name them."""

    at: datetime
    integration: str
    exists: bool  # or it was deleted since
    kinds: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RiskReport:
    """All of it. Lists have the newest `MOST`; counts have everything of the last `DAYS`."""

    exposed: ExposureReport
    cells: CellReport
    programs: tuple[RiskyProgram, ...]
    refused: tuple[OutgoingHost, ...]
    reached: tuple[OutgoingHost, ...]
    outcomes: dict[GuardOutcome, int]
    guarded: tuple[GuardedCall, ...]
    changed: tuple[ChangedDefinitions, ...]


def read_risks(*, most: int = MOST) -> RiskReport:
    """Read everything, by at most twelve statements whatever there is."""
    cells = read_report()
    statement = f"SELECT {_OUTCOME} AS outcome, count(*) FROM {_ASKED} GROUP BY 1"  # noqa: S608
    counts: dict[Any, int] = dict(rows_of(statement, {"period": timedelta(days=DAYS)}))
    return RiskReport(
        exposed=find_exposures(),
        cells=cells,
        programs=tuple(_risky_programs(cells)),
        refused=_hosts(most, allowed=False),
        reached=_hosts(most, allowed=True),
        outcomes={outcome: counts.get(outcome, 0) for outcome in OUTCOMES},
        guarded=_guarded_calls(most),
        changed=_changed_definitions(most),
    )


def _risky_programs(cells: CellReport) -> Iterable[RiskyProgram]:
    rows = Integration.objects.filter(transport="stdio").order_by("title", "pk")
    for row in rows.only("title", "slug", "command", "network", "enabled")[:_MOST_PROGRAMS]:
        kind: ProgramKind
        if is_container(row.command):
            kind = "container"
        elif cells.mode and not cells.works:
            kind = "no_cell"
        elif row.network == Integration.Network.ALL:
            kind = "whole_network"
        else:
            continue
        yield RiskyProgram(row.title, row.slug, kind, row.enabled)


def _hosts(most: int, *, allowed: bool) -> tuple[OutgoingHost, ...]:
    rows = OutgoingHost.objects.filter(allowed=allowed).select_related("integration")
    return tuple(rows.order_by("-last_at", "pk")[:most])


_OUTCOME = """
CASE WHEN c.flow ->> 'mode' = 'refuse' THEN 'refused'
     WHEN c.flow ->> 'mode' <> 'ask' THEN 'recorded'
     WHEN c.state = 'waiting_approval' THEN 'waiting'
     WHEN c.decided_at IS NOT NULL AND c.state <> 'rejected' THEN 'approved'
     ELSE 'rejected' END
"""
# By its end, for which there is an index; those that wait have another.
_ASKED = """
discovery_call c WHERE (c.ended_at >= statement_timestamp() - %(period)s::interval
  OR c.state IN ('waiting_approval', 'queued', 'running')) AND c.flow ->> 'verdict' = 'asks'
"""


def _guarded_calls(most: int) -> tuple[GuardedCall, ...]:
    # Neither arguments nor the guard's sentence: both hold values of other people's calls.
    statement = f"""
SELECT a.created_at, a.full_name, u.username, g.name, a.cause, a.outcome
FROM (SELECT c.id, c.created_at, c.full_name, c.user_id, c.group_id,
        COALESCE(c.flow ->> 'cause', '') AS cause, {_OUTCOME} AS outcome
      FROM {_ASKED} ORDER BY c.created_at DESC, c.id LIMIT %(most)s::int) a
JOIN auth_user u ON u.id = a.user_id JOIN auth_group g ON g.id = a.group_id
ORDER BY a.created_at DESC, a.id
"""  # noqa: S608 - our own text
    rows = rows_of(statement, {"period": timedelta(days=DAYS), "most": most})
    return tuple(GuardedCall(*row) for row in rows)


def _changed_definitions(most: int) -> tuple[ChangedDefinitions, ...]:
    entries = list(AuditEntry.objects.filter(action="definition.differs").order_by("-id")[:most])
    slugs = {entry.target for entry in entries}
    existing = set(Integration.objects.filter(slug__in=slugs).values_list("slug", flat=True))
    return tuple(
        ChangedDefinitions(
            entry.at,
            entry.target,
            entry.target in existing,
            tuple(
                (kind, tuple(entry.details[kind]))
                for kind in sorted(DIFFERENCES)
                if kind in entry.details
            ),
        )
        for entry in entries
    )
