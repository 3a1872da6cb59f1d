"""Markdown rendered to safe HTML: no raw HTML, no images, few kinds of links."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# markdown-it looks for the end of a link from every bracket on: 50,000 of them take four seconds.
_MOST_BRACKETS = 1_000
# markdown-it fills up each short row of a table: 8,000 characters took a second.
_MOST_CELLS = 4_000
_OUTLINE = 2  # a skill's own title comes below the page's and the section's


def safe_html(markdown: str) -> SafeString:
    """The HTML of `markdown`, its headings set below those of the page; as it stands where it has
    more brackets than any document needs. Tables stay as text where they would have too many cells.
    """
    if markdown.count("[") > _MOST_BRACKETS:
        return format_html("<pre>{}</pre>", markdown)
    parser = MarkdownIt("commonmark", {"html": False})
    # The most cells that tables could have: one ends with an empty line at the latest.
    cells = rows = widest = 0
    for line in (*markdown.splitlines(), ""):
        if line.strip():
            rows, widest = rows + 1, max(widest, line.count("|"))
            continue
        cells += rows * (widest + 1) if widest else 0
        rows = widest = 0
    if cells <= _MOST_CELLS:
        parser.enable("table")
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _OUTLINE)}"
    html = parser.renderer.render(tokens, parser.options, {})
    return mark_safe(_clean(html))  # noqa: S308 - cleaned just now


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def document_html(markdown: str, *, link: Callable[[str], str | None]) -> SafeString:
    """Return the HTML of one of our own documents, with ids at its headings.

    `link` returns the address of each link's target; the text of a link without one stays.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            before.attrSet("id", heading_id(token.content))
    _set_links(tokens, link)
    html = parser.renderer.render(tokens, parser.options, {})
    headings = {f"h{level}": {"id"} for level in range(1, 7)}
    cleaned = nh3.clean(
        html,
        tags=_TAGS | {"h1", "h2"},
        attributes={"a": {"href"}, "ol": {"start"}, **headings},
        url_schemes={"https", "mailto"},
        link_rel="noopener noreferrer",
    )
    # Put tables into boxes that scroll, also by keyboard.
    opened = cleaned.replace("<table>", '<div class="wide-table" tabindex="0"><table>')
    return mark_safe(opened.replace("</table>", "</table></div>"))  # noqa: S308 - cleaned just now


def heading_id(heading: str) -> str:
    """Return the fragment by which documents link to a heading."""
    fragment = "".join(
        character for character in heading.lower() if character.isalnum() or character in "_ -"
    )
    return fragment.replace(" ", "-")


def _set_links(tokens: Iterable[Token], link: Callable[[str], str | None]) -> None:
    for token in (child for parent in tokens for child in parent.children or ()):
        if token.type == "link_open":
            address = link(str(token.attrGet("href") or ""))
            token.attrs = {} if address is None else {"href": address}
