"""Small line charts as SVG, drawn on the server by pygal.

pygal brings styles, a script and an id for each drawing. The content policy refuses the first two,
so all of it is taken out, and the classes that remain are coloured by insights.css, in both themes.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pygal
from django.utils.safestring import SafeString
from pygal.style import Style

# pygal looks for packages with maps by a finder of a kind that Python 3.11 warns of at each import
# of anything, and later ones ignore. We have no maps.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]

WIDTH, HEIGHT, LABEL = 560, 190, 26
# What an axis has room for below it, whatever the time.
MOST_LABELS = 6
# Charts are measured with these sizes; insights.css writes the labels as large.
_SIZES = Style(label_font_size=13, major_label_font_size=13, value_label_font_size=13)
_TOOLTIP = "tooltip-overlay"

Values = Sequence[float | None]
Element = ElementTree.Element


@dataclass(frozen=True, slots=True)
class Line:
    """A measure over time; `name` is written at its end where there is more than one."""

    name: str
    values: Values


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a chart shows. `top` is where its axis ends at the least, `level` what the dashed line
    is called."""

    lines: Sequence[Line]
    labels: Sequence[str]
    target: float | None
    write: Callable[[float], str]
    top: float
    level: str = "target"


def draw(drawing: Drawing) -> SafeString:
    """The SVG; its name for those who do not see it is given by the page."""
    chart = pygal.Line(
        width=WIDTH,
        height=HEIGHT,
        range=(0, _top(drawing)),
        style=_SIZES,
        css=(),
        js=(),
        disable_xml_declaration=True,
        show_legend=False,
        show_x_guides=False,
        show_minor_x_labels=False,
        truncate_label=-1,
        print_labels=True,
        allow_interruptions=True,
        dots_size=3,
        margin=2,
        margin_top=16,
        margin_right=150 if len(drawing.lines) > 1 else 58,
        value_formatter=drawing.write,
    )
    chart.x_labels = drawing.labels
    chart.x_labels_major = _some(drawing.labels)
    chart.y_labels = [0, _top(drawing) / 2, _top(drawing)]
    for number, line in enumerate(drawing.lines):
        chart.add(line.name, _points(line, drawing, told=not number or _apart(drawing)))
    if drawing.target is not None:
        chart.add("target", _level(drawing.target, drawing))
    chart.add_xml_filter(_without_styles)
    if drawing.target is not None:
        chart.add_xml_filter(_levelled(len(drawing.lines)))
    # pygal escapes what it is given, and the labels are ours.
    return SafeString(chart.render(is_unicode=True))


def _top(drawing: Drawing) -> float:
    known = [value for line in drawing.lines for value in line.values if value is not None]
    return max([drawing.top, drawing.target or 0, *known])


def _some(labels: Sequence[str]) -> list[str]:
    step = max(1, -(-len(labels) // MOST_LABELS))
    return list(labels[::step])


def _apart(drawing: Drawing) -> bool:
    """Whether there is room for a label at the end of each line."""
    ends = [line.values[last] for line in drawing.lines if (last := _last(line)) is not None]
    known = sorted(end for end in ends if end is not None)
    room = _top(drawing) * LABEL / HEIGHT
    return all(upper - lower > room for lower, upper in pairwise(known))


def _last(line: Line) -> int | None:
    return max((at for at, value in enumerate(line.values) if value is not None), default=None)


def _points(line: Line, drawing: Drawing, *, told: bool) -> list[Any]:
    """The last known value is written beside its point."""
    last = _last(line)
    points: list[Any] = list(line.values)
    if last is not None and told:
        words = drawing.write(points[last])
        more = f"{line.name} {words}" if len(drawing.lines) > 1 else words
        points[last] = {"value": points[last], "label": more}
    return points


def _level(target: float, drawing: Drawing) -> list[Any]:
    points: list[Any] = [target] * len(drawing.labels)
    points[0] = {"value": target, "label": f"{drawing.level} {drawing.write(target)}"}
    return points


def _without_styles(svg: Element) -> Element:
    """Only lines, dots and words; what a dot says is a title, which needs no script."""
    svg.attrib.pop("id", None)
    for parent in list(svg.iter()):
        for child in list(parent):
            classes = child.get("class", "").split()
            if child.tag in {"defs", "title"} or _TOOLTIP in classes or "background" in classes:
                parent.remove(child)
    for dot in svg.iter("g"):
        if dot.get("class") == "dots":
            _entitle(dot)
    return svg


def _levelled(number: int) -> Callable[[Element], Element]:
    """The line of that number is a level: it has a class of its own, and no dots."""

    def mark(svg: Element) -> Element:
        for series in svg.iter("g"):
            if f"serie-{number}" in series.get("class", "").split():
                series.set("class", "series target")
                for dots in series.findall("g[@class='dots']"):
                    series.remove(dots)
        return svg

    return mark


def _entitle(dot: Element) -> None:
    told = {desc.get("class", "").strip(): desc.text or "" for desc in dot.findall("desc")}
    for desc in dot.findall("desc"):
        dot.remove(desc)
    title = ElementTree.SubElement(dot, "title")
    title.text = ": ".join(filter(None, (told.get("x_label"), told.get("value"))))
