"""Work on texts of strangers that has no bound of its own: searches by pattern, and web pages.

The reader program runs it in a cell. It imports nothing but the standard library and `regex`.
"""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from catalog.formats.text_cleanup import clean_text

MOST_MATCHES = 100
LONGEST_TEXT, LONGEST_TITLE, MOST_LINKS = 500_000, 300, 100
_SECONDS = 2.0
_UNREAD = {"script", "style", "template", "noscript", "svg", "iframe", "head"}
_BLOCKS = {
    *("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article"),
    *("header", "footer", "table", "ul", "ol", "pre", "blockquote", "dt", "dd", "hr", "main"),
}
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


def search_pattern(document: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Return the matches of a pattern, or the text with them replaced."""
    import regex

    text = document.decode(errors="surrogatepass")
    flags = regex.IGNORECASE if options["ignore_case"] else 0
    try:
        pattern = regex.compile(options["pattern"], flags | regex.MULTILINE)
        if (replacement := options["replacement"]) is not None:
            replaced, number = pattern.subn(replacement, text, timeout=_SECONDS)
            return {"text": replaced[:LONGEST_TEXT], "replaced": number}
        matches: list[dict[str, Any]] = []
        for match in pattern.finditer(text, timeout=_SECONDS):
            if len(matches) == MOST_MATCHES:
                return {"matches": matches, "more": True}
            groups = {"groups": list(match.groups())} if pattern.groups else {}
            matches.append({"text": match.group(), "start": match.start(), **groups})
    except TimeoutError:
        return {"refused": "The pattern takes too long on this text."}
    except (regex.error, IndexError, RecursionError, MemoryError, OverflowError) as odd:
        return {"refused": f"The pattern cannot be used: {str(odd)[:120]}."}
    return {"matches": matches, "more": False}


class _PageReader(HTMLParser):
    """A reader of the text of a page, its title and its links."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title, self.links = "", list[str]()
        self.parts: list[str] = []
        self._base, self._unread, self._in_title = base, list[str](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title"
        if tag in _UNREAD:
            self._unread.append(tag)
        elif tag in _BLOCKS:
            self.parts.append("\n")
            self.parts.append(f"{_HEADINGS[tag]} " if tag in _HEADINGS else "")
            self.parts.append("- " if tag == "li" else "")
        if tag == "body":
            self._unread.clear()
        if tag == "a" and (target := dict(attrs).get("href")) and len(self.links) < MOST_LINKS:
            try:
                url = urljoin(self._base, target.strip())
            except ValueError:
                return
            if url.startswith(("http://", "https://")):
                self.links.append(url[:2_000])

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title and not self.title:
            self.title = " ".join(data.split())[:LONGEST_TITLE]
        elif not self._unread:
            self.parts.append(data)


def read_page(document: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Return a page's title, its readable text and its links."""
    reader = _PageReader(options["base"])
    reader.feed(document.decode(errors="surrogatepass"))
    reader.close()
    # Hidden characters go: a model would read them, and the person who looks on does not.
    text = clean_text("".join(reader.parts)[:LONGEST_TEXT]).text
    lines = (" ".join(line.split()) for line in text.splitlines())
    paragraphs = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return {"title": clean_text(reader.title).text, "text": paragraphs, "links": reader.links}
