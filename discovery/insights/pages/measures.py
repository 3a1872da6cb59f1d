"""The figures of success as the page shows them: words, charts, and the tables beneath."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from discovery.insights.figures import Figure, Part, Report
from discovery.insights.pages.charts import Drawing, Line, draw
from discovery.insights.pages.insights_query import Asked

Write = Callable[[float], str]
NOTHING = "none"  # where nothing happened there is no value


def percent(value: float) -> str:
    """A share: more exactly where it is next to all or nothing."""
    share = 100 * value
    near = 0 < share < 10 or 99 < share < 100
    return f"{share:.1f}".removesuffix(".0") + " %" if near else f"{share:.0f} %"


def milliseconds(value: float) -> str:
    """A time: whole milliseconds, unless there are few."""
    return f"{value:.1f}".removesuffix(".0") + " ms" if value < 10 else f"{value:,.0f} ms"


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure, or several that share a chart; `of` says what it counts in."""

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
class Told:
    """A figure in words: beside its target, and beside the time before."""

    name: str
    value: str
    wanted: str
    before: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A measure with what it says of a time; its table has a row for each step."""

    measure: Measure
    told: tuple[Told, ...]
    of: int
    chart: SafeString
    rows: tuple[tuple[datetime, list[str], int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What a measure was in one step, and of how many."""

    at: datetime
    values: tuple[float | None, ...]
    of: int


def rows_of(measure: Measure, report: Report, asked: Asked) -> list[Row]:
    """A row for each step, also where nothing happened."""
    parts: dict[datetime | None, Part] = {part.at: part for part in (*report.days, *report.hours)}
    nothing = (None,) * len(measure.figures)
    rows = []
    for at in asked.times:
        found = [parts[at].figures[name] for name in measure.figures] if at in parts else []
        values = tuple(figure.value for figure in found) or nothing
        rows.append(Row(at, values, found[0].of if found else 0))
    return rows


def show_measure(measure: Measure, report: Report, asked: Asked) -> Shown:
    """One measure of the report."""
    rows = rows_of(measure, report, asked)
    first = next(iter(measure.figures))
    return Shown(
        measure=measure,
        told=tuple(_told(measure, report, name, label) for name, label in measure.figures.items()),
        of=report.figures[first].of,
        chart=_chart(measure, report, asked, [row.values for row in rows]),
        rows=tuple((row.at, _written(measure, row.values), row.of) for row in rows),
    )


def cells_of(part: Part) -> list[tuple[str, str]]:
    """All figures of a part in words, each with the head of its column."""
    return [
        (head, cell)
        for measure in MEASURES
        for head, cell in zip(
            [f"{measure.short} {label}".strip() for label in measure.figures.values()],
            _written(measure, [part.figures[name].value for name in measure.figures]),
            strict=True,
        )
    ]


def _written(measure: Measure, values: Sequence[float | None]) -> list[str]:
    return [NOTHING if value is None else measure.write(value) for value in values]


def _told(measure: Measure, report: Report, name: str, label: str) -> Told:
    figure, before = report.figures[name], report.before.figures[name].value
    return Told(
        name=label,
        value=NOTHING if figure.value is None else measure.write(figure.value),
        wanted=_wanted(figure, measure),
        before="" if before is None else measure.write(before),
        met=figure.met,
    )


def _wanted(figure: Figure, measure: Measure) -> str:
    # What latency is compared with is the time before, which is told anyway.
    if figure.target is None or measure.name == "added_latency":
        return ""
    return f"{figure.wanted} {measure.write(figure.target)}"


def _chart(
    measure: Measure, report: Report, asked: Asked, rows: Sequence[Sequence[float | None]]
) -> SafeString:
    form = "%H:%M" if asked.period.step == "hour" else "%-d %b"
    lines = [
        Line(label, [row[number] for row in rows])
        for number, label in enumerate(measure.figures.values())
    ]
    first = next(iter(measure.figures))
    return draw(
        Drawing(
            lines=lines,
            labels=[f"{at:{form}}" for at in asked.times],
            target=report.figures[first].target,
            write=measure.write,
            top=measure.top,
            level="before" if measure.name == "added_latency" else "target",
        )
    )
