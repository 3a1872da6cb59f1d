"""Text from outside on a page, with a mark for each character that is not what it seems."""

import re
from collections.abc import Iterable

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from acl.visible_text.pieces import Piece, split_into_pieces

register = template.Library()
_MARK = re.compile(r"(\[(?:U\+|xn--)[^\[\]]*+\])")


@register.filter
def pieces(value: Iterable[Piece]) -> SafeString:
    """Render pieces: marks are elements, which no text can write."""
    return format_html_join("", "{}", ((_element(piece),) for piece in value))


@register.filter
def visible(text: object) -> SafeString:
    """Render a text with marks in it."""
    return pieces(split_into_pieces(str(text)))


@register.filter
def marked(rendered: str) -> SafeString:
    """Wrap the marks of a text that is rendered already; nothing else can look like one."""
    parts = _MARK.split(rendered)
    return format_html_join(
        "",
        "{}",
        (
            (_element(Piece(part, "hidden" if at % 2 else "plain")),)
            for at, part in enumerate(parts)
        ),
    )


def _element(piece: Piece) -> SafeString:
    if piece.kind == "plain":
        return conditional_escape(piece.text)
    if piece.kind == "line":
        sign, rest = piece.text[:1], piece.text[1:]
        return format_html('<span class="char-line" aria-hidden="true">{}</span>{}', sign, rest)
    # A sign has its tab after it, which is to keep its width.
    return format_html('<mark class="char {}" dir="ltr">{}</mark>', piece.kind, piece.text)
