"""The page Risk, and its tables as CSV. For admins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_GET

from acl.platform.csv_lines import csv_lines
from acl.web.frame import PageRequest, admins_only, render_access
from catalog.access.flow_exposure import Exposure, LegTools
from catalog.access.pages.access_forms import sentence, write_changes
from discovery.insights._risk_report import DAYS, MOST, RiskReport, read_risks

_MOST_IN_CSV = 10_000
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
LEG_LABELS: Mapping[str, Promise] = {
    "reads_private_data": gettext_lazy("Reads private data"),
    "returns_foreign_text": gettext_lazy("Reads text from strangers"),
    "reaches_outside": gettext_lazy("Reaches outside"),
}
_SEPARATIONS: Mapping[str, Promise] = {
    "reads_private_data": gettext_lazy("Let a person approve reading private data:"),
    "returns_foreign_text": gettext_lazy("Let a person approve reading text from strangers:"),
    "reaches_outside": gettext_lazy("Let a person approve what goes outside:"),
}
_PROGRAM_LABELS: Mapping[str, Promise] = {
    "no_cell": gettext_lazy("No sandbox"),
    "container": gettext_lazy("A container instead of a sandbox"),
    "whole_network": gettext_lazy("A sandbox with the whole network"),
}
_OUTCOME_LABELS: Mapping[str, Promise] = {
    "recorded": gettext_lazy("Ran, recorded"),
    "waiting": gettext_lazy("Waiting"),
    "approved": pgettext_lazy("calls", "Approved"),
    "rejected": gettext_lazy("Rejected or expired"),
    "refused": pgettext_lazy("calls", "Refused"),
}
_CAUSE_LABELS: Mapping[str, Promise] = {
    "target": gettext_lazy("Its target is not from the message"),
    "no_target": gettext_lazy("It names no target"),
    "no_message": gettext_lazy("Its message is unknown"),
    "not_asked_for": gettext_lazy("The message does not ask for it"),
    "private_outside": gettext_lazy("Private data could leave"),
    "passed_on": gettext_lazy("It passes on the address of a stranger"),
    "dictated": gettext_lazy("Its text was dictated"),
    "composed_url": gettext_lazy("It opens a URL that nobody wrote"),
}
_KIND_LABELS: Mapping[str, Promise] = {
    "new": gettext_lazy("New"),
    "changed": gettext_lazy("Changed"),
    "gone": gettext_lazy("Missing"),
    "returned": gettext_lazy("As approved again"),
}
# Longer lists are cut on the page; the CSV and the preview have all.
_MOST_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class ExposureRow:
    """A group with all three, as the page shows it."""

    exposure: Exposure
    legs: tuple[tuple[Promise, tuple[LegTools, ...]], ...]
    advice: Promise
    sentences: tuple[str, ...]
    more: int
    lines: str


@admins_only
@require_GET
def risk(request: PageRequest) -> HttpResponse:
    """Show who holds all three, and what else an admin can lower."""
    report = read_risks()
    context = {
        "rows": [_row(entry) for entry in report.exposed.exposures],
        "not_worked_out": report.exposed.not_worked_out,
        "cells": report.cells,
        "programs": [(entry, _PROGRAM_LABELS[entry.kind]) for entry in report.programs],
        "refused": report.refused,
        "reached": report.reached,
        "outcomes": [(_OUTCOME_LABELS[name], count) for name, count in report.outcomes.items()],
        "guarded": [
            (entry, _CAUSE_LABELS.get(entry.cause, entry.cause), _OUTCOME_LABELS[entry.outcome])
            for entry in report.guarded
        ],
        "changed": [
            (entry, [(_KIND_LABELS.get(kind, kind), names) for kind, names in entry.kinds])
            for entry in report.changed
        ],
        "days": DAYS,
        "most": MOST,
        "back": request.path,
    }
    return render_access(request, "risk.html", context, tab="risk")


@admins_only
@require_GET
def download(request: PageRequest, name: str) -> StreamingHttpResponse:
    """Download one table of the page."""
    table = TABLES.get(name)
    if table is None:
        raise Http404
    columns, rows = table(read_risks(most=_MOST_IN_CSV))
    response = StreamingHttpResponse(
        csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
    )
    file = f"pegboard-risk-{name}-{timezone.now():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    response["Cache-Control"] = "no-store"
    return response


def _row(exposure: Exposure) -> ExposureRow:
    sentences = [sentence(change) for change in exposure.changes]
    return ExposureRow(
        exposure,
        tuple((LEG_LABELS[leg], tools) for leg, tools in exposure.legs.items()),
        _SEPARATIONS[exposure.separated_at],
        tuple(sentences[:_MOST_SENTENCES]),
        max(0, len(sentences) - _MOST_SENTENCES),
        write_changes(exposure.changes),
    )


def _groups(report: RiskReport) -> Table:
    rows = (
        (
            exposure.group.name,
            ", ".join(exposure.people),
            ", ".join(exposure.spaces),
            leg,
            part.slug,
            ", ".join(part.tools),
            leg == exposure.separated_at,
        )
        for exposure in report.exposed.exposures
        for leg, tools in exposure.legs.items()
        for part in tools
    )
    columns = ("group", "only_people", "only_spaces", "flag", "integration", "tools", "separated")
    return columns, rows


def _programs(report: RiskReport) -> Table:
    rows = (
        (program.slug, program.title, program.kind, program.enabled) for program in report.programs
    )
    return ("integration", "title", "kind", "enabled"), rows


def _hosts(report: RiskReport) -> Table:
    rows = (
        (row.integration.slug, row.host, row.allowed, row.times, row.last_at.isoformat())
        for row in (*report.refused, *report.reached)
    )
    return ("integration", "host", "allowed", "times", "last_at"), rows


def _calls(report: RiskReport) -> Table:
    rows = (
        (
            guarded_call.at.isoformat(),
            guarded_call.full_name,
            guarded_call.user,
            guarded_call.group,
            guarded_call.cause,
            guarded_call.outcome,
        )
        for guarded_call in report.guarded
    )
    return ("at", "tool", "user", "group", "cause", "outcome"), rows


def _definitions(report: RiskReport) -> Table:
    rows = (
        (change.at.isoformat(), change.integration, kind, name)
        for change in report.changed
        for kind, names in change.kinds
        for name in names
    )
    return ("at", "integration", "kind", "tool"), rows


TABLES: Mapping[str, Callable[[RiskReport], Table]] = {
    "groups": _groups,
    "programs": _programs,
    "hosts": _hosts,
    "calls": _calls,
    "definitions": _definitions,
}
