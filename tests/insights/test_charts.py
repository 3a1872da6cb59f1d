"""Charts as embedded in pages: without styles, scripts or colours of their own."""

from xml.etree import ElementTree

from discovery.insights.pages.charts import ChartLine, Drawing, draw

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
