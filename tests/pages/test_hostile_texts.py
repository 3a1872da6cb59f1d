"""Third-party texts are displayed as text on all pages."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from acl.web.markdown import safe_html
from catalog.models import Capability
from discovery.calls.shown_parameters import list_parameters

SCRIPT = "<script>alert(1)</script>"
BREAKING_OUT = "\"'><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("path", ["/tools/", "/tools/gmail__send_email/", "/?message=email"])
@pytest.mark.parametrize("hostile", [SCRIPT, BREAKING_OUT])
def test_names_and_descriptions_are_escaped(
    as_alice: Client, gmail: Capability, path: str, hostile: str
) -> None:
    gmail.integration.title = hostile
    gmail.integration.save()
    Capability.objects.update(
        display_name=hostile, description=f"email {hostile}", tags=[hostile[:60]], category=hostile
    )

    text = as_alice.get(path).content.decode()

    assert hostile not in text
    assert "alert(1)" in text


def test_the_message_itself_is_escaped(as_alice: Client, gmail: Capability) -> None:
    for output in ("", "prompt", "mcp"):
        response = as_alice.get("/", {"message": SCRIPT, "output": output})

        assert SCRIPT not in response.content.decode()


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/pixel.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:msgbox)",
        '[x](https://ok.example "\\" onmouseover=alert(1)")',
        "<svg onload=alert(1)>",
        "<style>body{display:none}</style>",
        "| a |\n| :-: |\n| b |",
    ],
)
def test_markdown_leaves_nothing_that_runs_loads_or_styles(markdown: str) -> None:
    parts = _Parts()

    parts.feed(safe_html(markdown))

    assert parts.tags <= {"p", "a", "em", "table", "thead", "tbody", "tr", "th", "td"}
    assert parts.attributes <= {"href", "title", "rel"}
    assert all(address.startswith("https://ok.example") for address in parts.addresses)


class _Parts(HTMLParser):
    """The elements and attributes as a browser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name == "href"]


def test_markdown_links_say_nothing_about_where_one_came_from() -> None:
    assert 'rel="noopener noreferrer nofollow"' in safe_html("[x](https://ok.example)")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {"a": "text"}, "required": "a"},
        {"properties": {"a": {"enum": 1, "anyOf": [1], "items": []}}, "required": [{}, 1]},
        {"properties": {"a": {"type": "array", "items": {"type": ["string", "null"]}}}},
    ],
)
def test_a_schema_with_things_in_the_wrong_place_is_still_shown(schema: dict) -> None:
    assert [parameter.name for parameter in list_parameters(schema)] in ([], ["a"])


def test_parameters_keep_their_order_and_needed_ones_their_places() -> None:
    many: dict[str, dict] = {f"cc{number}": {} for number in range(100)}

    assert [one.name for one in list_parameters({"properties": {"cc": {}, "to": {}}})] == [
        "cc",
        "to",
    ]
    listed = list_parameters({"properties": {**many, "to": {}}, "required": ["to"]})
    assert [one.name for one in listed] == [*list(many)[:59], "to"]
