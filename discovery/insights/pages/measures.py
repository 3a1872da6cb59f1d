"""Measures as the pages show them: texts, charts, and the tables below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from discovery.insights.figures import Figure, Part, Report
from discovery.insights.pages.charts import Drawing, Line, draw
from discovery.insights.pages.insights_query import InsightsQuery

Write = Callable[[float], str]
NOTHING = "none"  # a measure has no value without turns


def percent(value: float) -> str:
    """Format a share, with a decimal near 0 and 100 %."""
    share = 100 * value
    near = 0 < share < 10 or 99 < share < 100
    return f"{share:.1f}".removesuffix(".0") + " %" if near else f"{share:.0f} %"


def milliseconds(value: float) -> str:
    """Format a duration, with a decimal below 10 ms."""
    return f"{value:.1f}".removesuffix(".0") + " ms" if value < 10 else f"{value:,.0f} ms"


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure, or several that share a chart; `of` names the unit of the sample size."""

    name: str
    title: str
    says: str
    figures: Mapping[str, str]
    of: str
    short: str
    write: Write = percent
    top: float = 1.0


MEASURES = (
    Measure(
        "tokens_saved",
        "Tokens saved",
        "Of all that the definitions of every usable tool would cost, what was not sent.",
        {"tokens_saved": ""},
        "tokens",
        "Tokens saved",
    ),
    Measure(
        "called_among_selected",
        "Called tool was among the selected",
        "Of the turns that called a tool, those in which one of the called ones had been selected.",
        {"called_among_selected": ""},
        "turns that called a tool",
        "Among selected",
    ),
    Measure(
        "discovery_used",
        "Turns that had to use discovery",
        "Turns in which the model looked for tools beyond those that had been selected.",
        {"discovery_used": ""},
        "turns",
        "Used discovery",
        top=0.1,
    ),
    Measure(
        "added_latency",
        "Added latency",
        "How long choosing took before the model was asked.",
        {"added_latency_ms": "median", "added_latency_p95_ms": "95 of 100"},
        "turns",
        "Latency",
        milliseconds,
        top=10.0,
    ),
    Measure(
        "discovery_empty",
        "Looks that found nothing",
        "Of the model's own looks for tools, those that were answered with none.",
        {"discovery_empty": ""},
        "looks",
        "Empty looks",
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

    measure: Measure
    told: tuple[FigureText, ...]
    of: int
    chart: SafeString
    rows: tuple[tuple[datetime, list[str], int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A measure's values in one step, with the sample size."""

    at: datetime
    values: tuple[float | None, ...]
    of: int


def list_rows(measure: Measure, report: Report, query: InsightsQuery) -> list[Row]:
    """Return a row for each step, including those without turns."""
    parts: dict[datetime | None, Part] = {part.at: part for part in (*report.days, *report.hours)}
    nothing = (None,) * len(measure.figures)
    rows = []
    for at in query.times:
        found = [parts[at].figures[name] for name in measure.figures] if at in parts else []
        values = tuple(figure.value for figure in found) or nothing
        rows.append(Row(at, values, found[0].of if found else 0))
    return rows


def show_measure(measure: Measure, report: Report, query: InsightsQuery) -> MeasureView:
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


def format_cells(part: Part) -> list[tuple[str, str]]:
    """Format all figures of a part, each with its column's heading."""
    return [
        (head, cell)
        for measure in MEASURES
        for head, cell in zip(
            [f"{measure.short} {label}".strip() for label in measure.figures.values()],
            _format_values(measure, [part.figures[name].value for name in measure.figures]),
            strict=True,
        )
    ]


def _format_values(measure: Measure, values: Sequence[float | None]) -> list[str]:
    return [NOTHING if value is None else measure.write(value) for value in values]


def _figure_text(measure: Measure, report: Report, name: str, label: str) -> FigureText:
    figure, before = report.figures[name], report.before.figures[name].value
    return FigureText(
        name=label,
        value=NOTHING if figure.value is None else measure.write(figure.value),
        wanted=_wanted(figure, measure),
        before="" if before is None else measure.write(before),
        met=figure.met,
    )


def _wanted(figure: Figure, measure: Measure) -> str:
    # The target of latency is the period before, which is displayed anyway.
    if figure.target is None or measure.name == "added_latency":
        return ""
    return f"{figure.wanted} {measure.write(figure.target)}"


def _chart(
    measure: Measure, report: Report, query: InsightsQuery, rows: Sequence[Sequence[float | None]]
) -> SafeString:
    form = "%H:%M" if query.period.step == "hour" else "%-d %b"
    lines = [
        Line(label, [row[number] for row in rows])
        for number, label in enumerate(measure.figures.values())
    ]
    first = next(iter(measure.figures))
    return draw(
        Drawing(
            lines=lines,
            labels=[f"{at:{form}}" for at in query.times],
            target=report.figures[first].target,
            write=measure.write,
            top=measure.top,
            level="before" if measure.name == "added_latency" else "target",
        )
    )
