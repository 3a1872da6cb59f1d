"""Small line charts as SVG, drawn on the server by pygal.

pygal adds styles, a script and an id to each drawing. The content security policy refuses the first
two, so all are removed; insights.css colours the remaining classes in both themes.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pygal
from django.utils.safestring import SafeString
from pygal.style import Style

# Importing pygal installs a finder for map packages, of a kind that makes Python 3.11 warn at every
# import. Pegboard needs no maps.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]

WIDTH, HEIGHT, LABEL = 560, 190, 26
LINE_HEIGHT = 21  # of a label, as large as narrow windows have it
LEVEL_LABEL = 110  # width of a level's label
_ROUND = (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)  # ends of an axis, times a power of ten
# As many labels as fit below the axis.
MOST_LABELS = 6
# pygal computes the layout with these font sizes; insights.css uses the same.
_SIZES = Style(label_font_size=13, major_label_font_size=13, value_label_font_size=13)
_TOOLTIP = "tooltip-overlay"

Values = Sequence[float | None]
Element = ElementTree.Element


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A measure over time; its name stands at its end if there are several."""

    name: str
    values: Values


@dataclass(frozen=True, slots=True)
class Drawing:
    """Data of a chart: `top` is the least end of the axis, `level` the label of the dashed line."""

    lines: Sequence[ChartLine]
    labels: Sequence[str]
    target: float | None
    write: Callable[[float], str]
    top: float
    level: str = "target"


class _Place(NamedTuple):
    at: int  # the point at which the label begins
    is_below: bool


def draw(drawing: Drawing) -> SafeString:
    """Draw the SVG. The page around it gives its accessible name."""
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
    step = max(1, -(-len(drawing.labels) // MOST_LABELS))
    chart.x_labels_major = list(drawing.labels[::step])
    chart.y_labels = [0, _top(drawing) / 2, _top(drawing)]
    for line in drawing.lines:
        chart.add(line.name, _points(line, drawing))
    chart.add_xml_filter(_without_styles)
    chart.add_xml_filter(_moved_apart(len(drawing.lines)))
    if drawing.target is not None:
        place = _place_of_label(drawing, drawing.target)
        target = drawing.target
        points: list[Any] = [target] * len(drawing.labels)
        points[place.at] = {"value": target, "label": f"{drawing.level} {drawing.write(target)}"}
        chart.add("target", points)
        chart.add_xml_filter(_levelled(len(drawing.lines), "below" if place.is_below else "above"))
    # pygal escapes text, and the labels are our own.
    return SafeString(chart.render(is_unicode=True))


def draw_sparkline(values: Values) -> SafeString:
    """Draw a line without axes and labels. The numbers stand beside it, so it has no name.

    One point and a flat line at nothing say less than the number does: they are not drawn.
    """
    numbers = [value for value in values if value is not None]
    if sum(map(bool, numbers)) < 2:
        return SafeString("")
    chart = pygal.Line(
        style=_SIZES,
        css=(),
        js=(),
        disable_xml_declaration=True,
        show_legend=False,
        allow_interruptions=True,
        range=(0, max([1e-9, *numbers])),
        dots_size=2,
    )
    chart.add("", list(values))
    chart.add_xml_filter(_without_styles)
    svg = chart.render_sparkline(width=120, height=32, show_dots=True, is_unicode=True)
    return SafeString(svg)


def _top(drawing: Drawing) -> float:
    """Return the end of the axis: a round number, whose half is one, too."""
    numbers = [value for line in drawing.lines for value in line.values if value is not None]
    least = max([drawing.target or 0, *numbers])
    if least <= drawing.top:
        return drawing.top
    unit = 10.0 ** math.floor(math.log10(least))
    return next(round(step * unit, 9) for step in _ROUND if step * unit >= least * 0.999)


def _points(line: ChartLine, drawing: Drawing) -> list[Any]:
    """Return the points, with the last known value written beside its point."""
    last = max((at for at, value in enumerate(line.values) if value is not None), default=None)
    points: list[Any] = list(line.values)
    if last is not None:
        words = drawing.write(points[last])
        more = f"{line.name} {words}" if len(drawing.lines) > 1 else words
        points[last] = {"value": points[last], "label": more}
    return points


def _place_of_label(drawing: Drawing, target: float) -> _Place:
    """Return where the level's label is farthest from all lines, of several the leftmost."""
    width = max(1, math.ceil(LEVEL_LABEL * (len(drawing.labels) - 1) / WIDTH))
    starts = range(max(1, len(drawing.labels) - width))
    places = [_Place(at, is_below) for is_below in (False, True) for at in starts]
    if target < _top(drawing) * LABEL / HEIGHT:  # the days are written below
        places = [place for place in places if not place.is_below]
    return max(places, key=lambda place: _room(drawing, target, place, width))


def _room(drawing: Drawing, target: float, place: _Place, width: int) -> float:
    """Return the least distance of a line from the level, on the label's side and beside it."""
    room = 2 * LABEL / HEIGHT * _top(drawing)  # more does not matter
    for line in drawing.lines:
        values = [
            value for value in line.values[place.at : place.at + width + 1] if value is not None
        ]
        above = [value - target for value in values]
        near = [-distance if place.is_below else distance for distance in above]
        if any(distance >= 0 for distance in near):
            room = min(room, max(0.0, min(near)))
    return room


def _without_styles(svg: Element) -> Element:
    """Keep lines, dots and text; a dot's tooltip becomes a title, which needs no script."""
    svg.attrib.pop("id", None)
    for parent in list(svg.iter()):
        for child in list(parent):
            classes = child.get("class", "").split()
            if child.tag in {"defs", "title"} or _TOOLTIP in classes or "background" in classes:
                parent.remove(child)
    for dot in svg.iter("g"):
        if dot.get("class") == "dots":
            labelled = {
                desc.get("class", "").strip(): desc.text or "" for desc in dot.findall("desc")
            }
            for desc in dot.findall("desc"):
                dot.remove(desc)
            title = ElementTree.SubElement(dot, "title")
            title.text = ": ".join(filter(None, (labelled.get("x_label"), labelled.get("value"))))
    return svg


def _moved_apart(number: int) -> Callable[[Element], Element]:
    """Move labels of so many lines up where they would lie on the one below."""
    names = {f"serie-{place}" for place in range(number)}

    def move(svg: Element) -> Element:
        ends = [
            element for element in svg.iter("g") if names & set(element.get("class", "").split())
        ]
        labels = [text for series in ends for text in series.findall("text[@class='label']")]
        labels.sort(key=_height, reverse=True)
        for below, label in pairwise(labels):
            label.set("y", str(min(_height(label), _height(below) - LINE_HEIGHT)))
        return svg

    return move


def _height(text: Element) -> float:
    return float(text.get("y", "0"))


def _levelled(number: int, side: str) -> Callable[[Element], Element]:
    """Style the line of that number as a level: classes of its own, and no dots."""

    def mark(svg: Element) -> Element:
        for series in svg.iter("g"):
            if f"serie-{number}" in series.get("class", "").split():
                series.set("class", f"series target {side}")
                for dots in series.findall("g[@class='dots']"):
                    series.remove(dots)
        return svg

    return mark
