"""Measures as the pages show them: texts, charts, and the tables below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from discovery.insights.figures import FigureGroup, Report
from discovery.insights.pages.charts import ChartLine, Drawing, draw
from discovery.insights.pages.insights_query import InsightsQuery

Write = Callable[[float], str]
NO_VALUE = gettext_noop("none")  # a measure has no value without turns
_TARGETS = {
    "at least": gettext_noop("at least %(value)s"),
    "more than": gettext_noop("more than %(value)s"),
    "less than": gettext_noop("less than %(value)s"),
    "at most": gettext_noop("at most %(value)s"),
}


def percent(value: float) -> str:
    """Format a share, with a decimal near 0 and 100 %."""
    share = 100 * value
    near = 0 < share < 10 or 99 < share < 100
    return f"{_rounded(share, decimal=near)} %"


def milliseconds(value: float) -> str:
    """Format a duration, with a decimal below 10 ms."""
    return f"{_rounded(value, decimal=value < 10)} ms"


def _rounded(value: float, *, decimal: bool) -> str:
    """Round in the language's way; a decimal of 0 is left out."""
    is_whole = not decimal or f"{value:.1f}".endswith(".0")
    return number_format(
        round(value, 0 if is_whole else 1), 0 if is_whole else 1, force_grouping=True
    )


@dataclass(frozen=True, slots=True)
class PageMeasure:
    """A figure, or several that share a chart; `of` names the unit of the sample size.

    Texts are English; pages translate them. `columns` are the headings of the table of groups.
    """

    name: str
    title: str
    says: str
    figures: Mapping[str, str]
    of: str
    columns: tuple[str, ...]
    write: Write = percent
    top: float = 1.0


MEASURES = (
    PageMeasure(
        "tokens_saved",
        gettext_noop("Tokens saved"),
        gettext_noop("Share of the tokens of all usable tools' definitions that was not sent."),
        {"tokens_saved": ""},
        gettext_noop("tokens"),
        (gettext_noop("Tokens saved"),),
    ),
    PageMeasure(
        "called_among_selected",
        gettext_noop("Calls to selected tools"),
        gettext_noop(
            "Share of the turns with a tool call in which a called tool had been selected."
        ),
        {"called_among_selected": ""},
        gettext_noop("turns with a tool call"),
        (gettext_noop("Called tool selected"),),
    ),
    PageMeasure(
        "discovery_used",
        gettext_noop("Turns with a search"),
        gettext_noop("Share of the turns in which the model searched for more tools."),
        {"discovery_used": ""},
        gettext_noop("turns"),
        (gettext_noop("Turns with a search"),),
        top=0.1,
    ),
    PageMeasure(
        "added_latency",
        gettext_noop("Selection latency"),
        gettext_noop("Time that selection adds before the model is called."),
        {"added_latency_ms": gettext_noop("median"), "added_latency_p95_ms": "p95"},
        gettext_noop("turns"),
        (gettext_noop("Median latency"), gettext_noop("p95 latency")),
        milliseconds,
        top=10.0,
    ),
    PageMeasure(
        "discovery_empty",
        gettext_noop("Empty searches"),
        gettext_noop("Share of the model's searches that found no tool."),
        {"discovery_empty": ""},
        gettext_noop("searches"),
        (gettext_noop("Empty searches"),),
        top=0.1,
    ),
)


@dataclass(frozen=True, slots=True)
class FigureText:
    """A figure as text, with its target and its value in the period before."""

    name: str
    value: str
    wanted: str
    before: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class MeasureView:
    """A measure with its figures, chart, and a table row for each step."""

    measure: PageMeasure
    told: tuple[FigureText, ...]
    of: int
    chart: SafeString
    rows: tuple[tuple[datetime, list[str], int], ...]


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """A measure's values in one step, with the sample size."""

    at: datetime
    values: tuple[float | None, ...]
    of: int


def list_rows(measure: PageMeasure, report: Report, query: InsightsQuery) -> list[MeasureRow]:
    """Return a row for each step, including those without turns."""
    parts: dict[datetime | None, FigureGroup] = {
        part.at: part for part in (*report.days, *report.hours)
    }
    nothing = (None,) * len(measure.figures)
    rows = []
    for at in query.times:
        figures = [parts[at].figures[name] for name in measure.figures] if at in parts else []
        values = tuple(figure.value for figure in figures) or nothing
        rows.append(MeasureRow(at, values, figures[0].of if figures else 0))
    return rows


def show_measure(measure: PageMeasure, report: Report, query: InsightsQuery) -> MeasureView:
    """Prepare one measure of the report for display."""
    rows = list_rows(measure, report, query)
    first = next(iter(measure.figures))
    return MeasureView(
        measure=measure,
        told=tuple(
            _figure_text(measure, report, name, label) for name, label in measure.figures.items()
        ),
        of=report.figures[first].of,
        chart=_chart(measure, report, query, [row.values for row in rows]),
        rows=tuple((row.at, _format_values(measure, row.values), row.of) for row in rows),
    )


def format_cells(part: FigureGroup) -> list[tuple[str, str]]:
    """Format all figures of a part, each with its column's heading."""
    return [
        (head, cell)
        for measure in MEASURES
        for head, cell in zip(
            map(_, measure.columns),
            _format_values(measure, [part.figures[name].value for name in measure.figures]),
            strict=True,
        )
    ]


def _format_values(measure: PageMeasure, values: Sequence[float | None]) -> list[str]:
    return [_(NO_VALUE) if value is None else measure.write(value) for value in values]


def _figure_text(measure: PageMeasure, report: Report, name: str, label: str) -> FigureText:
    figure, before = report.figures[name], report.before.figures[name].value
    return FigureText(
        name=_(label) if label else "",
        value=_(NO_VALUE) if figure.value is None else measure.write(figure.value),
        wanted=""
        if figure.target is None or measure.name == "added_latency"
        else _(_TARGETS[figure.wanted]) % {"value": measure.write(figure.target)},
        before="" if before is None else measure.write(before),
        met=figure.met,
    )


def _chart(
    measure: PageMeasure,
    report: Report,
    query: InsightsQuery,
    rows: Sequence[Sequence[float | None]],
) -> SafeString:
    form = "H:i" if query.period.step == "hour" else "SHORT_DAY_FORMAT"
    lines = [
        ChartLine(_(label) if label else "", [row[number] for row in rows])
        for number, label in enumerate(measure.figures.values())
    ]
    first = next(iter(measure.figures))
    return draw(
        Drawing(
            lines=lines,
            labels=[date_format(at, form) for at in query.times],
            target=report.figures[first].target,
            write=measure.write,
            top=measure.top,
            level=_("previous") if measure.name == "added_latency" else _("target"),
        )
    )
