"""Every text of a template goes through translation."""

from pathlib import Path

import pytest

from tests.translation.untranslated import TEMPLATES, templates, untranslated


@pytest.mark.parametrize("template", templates(), ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_no_text_is_outside_translation(template: Path) -> None:
    assert [str(finding) for finding in untranslated(template)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Hello there</p>", ["Hello there"]),
        ('<img alt="A wrench">', ["A wrench"]),
        ('{% include "x.html" with title="Delete it" %}', ["Delete it"]),
        ("<p>{% translate 'Hello' %} {{ name }}</p>", []),
        ("{% blocktranslate %}<b>Hello</b>{% endblocktranslate %}", []),
        ('<p translate="no">Hello</p><code>select it</code>', []),
        ("<p>Pegboard, 12 ms</p>", []),
        ("<p>{{ finding.told }}</p>", ["finding.told"]),
        ("<p>{{ defect.reason|translated }} {{ form.data.message|default:'' }}</p>", []),
    ],
)
def test_texts_outside_are_found(tmp_path: Path, source: str, found: list[str]) -> None:
    template = tmp_path / "page.html"
    template.write_text(source)

    assert [finding.text for finding in untranslated(template)] == found
