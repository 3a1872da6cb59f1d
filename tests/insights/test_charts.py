"""Charts as embedded in pages: without styles, scripts or colours of their own."""

from xml.etree import ElementTree

from discovery.insights.pages.charts import LINE_HEIGHT, ChartLine, Drawing, draw

DAYS = [f"{day} Nov" for day in range(1, 8)]


def test_chart_is_lines_dots_and_words() -> None:
    values = [0.9, 0.8, None, 0.7, 0.95, None, None]

    svg = draw(Drawing([ChartLine("", values)], DAYS, 0.85, lambda value: f"{value:.0%}", 1))

    tree = ElementTree.fromstring(svg)  # noqa: S314 - ours
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    attributes = {name for element in tree.iter() for name in element.attrib}
    titles = [element.text for element in tree.iter() if element.tag.endswith("title")]
    assert names <= {"svg", "g", "path", "circle", "text", "title"}
    assert not attributes & {"style", "id", "fill", "stroke", "onclick", "href"}
    assert [title for title in titles if title != "1 Nov: 85%"][:2] == ["1 Nov: 90%", "2 Nov: 80%"]
    assert ">95%<" in svg  # the last known one
    assert "target 85%" in svg


def test_chart_of_nothing_is_drawn() -> None:
    svg = draw(Drawing([ChartLine("", [None, None])], DAYS[:2], None, str, 1))

    assert "<circle" not in svg


def level_of(values: list[float | None], target: float) -> tuple[str, float]:
    """Return on which side of its line a level's label is, and how far from the left."""
    svg = draw(Drawing([ChartLine("", values)], DAYS, target, lambda value: f"{value:.0%}", 1))
    root = ElementTree.fromstring(svg)  # noqa: S314 - ours
    overlay = next(one for one in root.iter() if "text-overlay" in one.get("class", ""))
    level = next(one for one in overlay if "target" in one.get("class", ""))
    return level.get("class", "").split()[-1], float(level[0].get("x", "0"))


def test_label_of_a_target_keeps_off_the_line() -> None:
    above, left = level_of([0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2], 0.6)
    below, also_left = level_of([0.65, 0.7, 0.8, 0.9, 0.7, 0.7, 0.7], 0.6)
    _, right = level_of([0.58, 0.62, 0.58, 0.62, 0.1, 0.1, 0.1], 0.6)
    at_the_bottom, _ = level_of([0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.1], 0.0)

    assert (above, below, at_the_bottom) == ("above", "below", "above")
    assert left == also_left
    assert right > left


def test_axis_ends_at_a_round_number() -> None:
    svg = draw(Drawing([ChartLine("", [517.0, 19.0])], DAYS[:2], None, lambda ms: f"{ms:g} ms", 1))

    assert all(f">{end}<" in svg for end in ("0 ms", "300 ms", "600 ms"))


def test_every_line_is_named_also_where_their_ends_meet() -> None:
    lines = [ChartLine("median", [20.0, 19.0]), ChartLine("p95", [90.0, 21.0])]

    svg = draw(Drawing(lines, DAYS[:2], None, lambda ms: f"{ms:g} ms", 1))

    root = ElementTree.fromstring(svg)  # noqa: S314 - ours
    ends = [one for one in root.iter() if one.get("class") == "label" and one.text]
    median, p95 = (float(one.get("y", "0")) for one in ends)
    assert [one.text for one in ends] == ["median 19 ms", "p95 21 ms"]
    assert median - p95 >= LINE_HEIGHT - 0.01
