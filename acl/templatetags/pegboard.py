"""Filters and tags shared by pages."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from urllib.parse import urlencode

from django import template
from django.core.files.storage import Storage, storages
from django.templatetags.static import static
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop

from acl.audit.log import actor_text, credential_text, entry_actor_text
from acl.models import ApiKey
from acl.platform.stored_texts import translate_stored
from acl.visible_text.pieces import Piece, split_into_pieces
from acl.web.help_pages import topic_of

register = template.Library()

# Text from outside, with a mark for each character that is not what it seems.
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


_LEAST_DOLLARS, _WHOLE_CENTS = Decimal("0.0001"), 100
register.filter("translated", translate_stored)
register.filter("actor", actor_text)
register.filter("credential", credential_text)
register.filter("entry_actor", entry_actor_text)

# Of tools by category, of everything else by kind.
_CATEGORY_ICONS = {
    "ai": "brain", "api": "braces", "auth": "shield", "browser": "app-window", "cloud": "cloud",
    "communication": "mail", "data-analysis": "chart-column", "database": "database",
    "developer-tools": "code", "discovery": "compass", "education": "graduation-cap",
    "filesystem": "folder", "finance": "landmark", "gaming": "gamepad-2", "health": "heart-pulse",
    "information": "newspaper", "interface": "panels-top-left", "media": "image",
    "memory": "bookmark", "messaging": "messages-square", "planning": "calendar",
    "search": "search", "security": "lock", "shopping": "shopping-cart", "social-media": "share-2",
    "transform": "shuffle", "travel": "map", "workspace": "users", "writing": "pen-line",
}  # fmt: skip
_KIND_ICONS = {
    "skill": "book-open", "channel": "messages-square", "extension": "plug", "voice": "mic",
    "emergent-tool": "sparkles",
}  # fmt: skip
# An MCP server's kind says nothing about it: it has its mark, or a letter.
INTEGRATION_KIND_ICONS = {
    **_KIND_ICONS, "openapi": "braces", "builtin": "zap", "manifest": "folder",
    "catalog": "package",
}  # fmt: skip
# Labels of what is stored by a code. A code of a source that is not here gets its own words.
_KIND_LABELS = {
    "tool": gettext_noop("tool"), "skill": gettext_noop("skill"),
    "channel": gettext_noop("channel"), "extension": gettext_noop("extension"),
    "voice": gettext_noop("voice"), "emergent-tool": gettext_noop("emergent tool"),
}  # fmt: skip
_CATEGORY_LABELS = {
    "ai": gettext_noop("AI"), "api": gettext_noop("API"), "auth": gettext_noop("Auth"),
    "browser": gettext_noop("Browser"), "cloud": gettext_noop("Cloud"),
    "communication": gettext_noop("Communication"),
    "data-analysis": gettext_noop("Data analysis"), "database": gettext_noop("Database"),
    "developer-tools": gettext_noop("Developer tools"), "discovery": gettext_noop("Discovery"),
    "education": gettext_noop("Education"), "filesystem": gettext_noop("Filesystem"),
    "finance": gettext_noop("Finance"), "gaming": gettext_noop("Gaming"),
    "health": gettext_noop("Health"), "information": gettext_noop("Information"),
    "interface": gettext_noop("Interface"), "media": gettext_noop("Media"),
    "other": gettext_noop("Other"),
    "memory": gettext_noop("Memory"), "messaging": gettext_noop("Messaging"),
    "planning": gettext_noop("Planning"), "search": gettext_noop("Search"),
    "security": gettext_noop("Security"), "shopping": gettext_noop("Shopping"),
    "social-media": gettext_noop("Social media"), "transform": gettext_noop("Transform"),
    "travel": gettext_noop("Travel"), "workspace": gettext_noop("Workspace"),
    "writing": gettext_noop("Writing"), "": gettext_noop("Other"),
}  # fmt: skip
_SHORT = {"ai", "api", "mcp"}


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """Render an icon, hidden from screen readers."""
    return _drawing(storages["staticfiles"], name, size)


# A page has some hundred of them, and each address would be worked out anew. Who stores the files
# is a part of the question, since tests have others.
@lru_cache(maxsize=512)
def _drawing(_stored: Storage, name: str, size: int) -> SafeString:
    return format_html(
        '<svg class="icon icon-{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        size,
        static("pegboard/icons.svg"),
        name,
    )


@register.filter
def category_icon(category: str, kind: str = "tool") -> str:
    """Return the icon's name: by kind for other kinds than tools, else by category."""
    return _KIND_ICONS.get(kind) or _CATEGORY_ICONS.get(category, "wrench")


@register.filter
def category_label(category: str) -> str:
    """Format a category: `developer-tools` is Developer tools."""
    if (label := _CATEGORY_LABELS.get(category)) is not None:
        return gettext(label)
    words = category.replace("-", " ").replace("_", " ").strip()
    return words.upper() if words in _SHORT else words[:1].upper() + words[1:]


@register.filter
def kind_label(kind: str) -> str:
    """Return the label of a kind."""
    label = _KIND_LABELS.get(kind)
    return gettext(label) if label else kind.replace("-", " ")


@register.filter
def uncapitalized(label: object) -> str:
    """Return a label as badges have it: in lower case at its beginning."""
    text = str(label)
    return text[:1].lower() + text[1:]


@register.filter
def group_name(name: str) -> str:
    """Return a group's name for people: the group of set-up is "Everyone"."""
    return gettext("Everyone") if name == "everyone" else name


@register.filter
def key_groups(key: ApiKey) -> str:
    """Return the groups of a key in words. Prefetch `groups` for lists."""
    if key.all_groups:
        return gettext("all groups")
    return ", ".join(sorted(group.name for group in key.groups.all())) or gettext("no group")


@register.filter
def grouped(number: int) -> str:
    """Format a number with the language's thousands separators."""
    return number_format(number, force_grouping=True)


@register.filter
def dollars(amount: Decimal) -> str:
    """Format US dollars as the language writes them: cents, or four places where they matter."""
    if 0 < amount < _LEAST_DOLLARS:
        return f"< {dollars(_LEAST_DOLLARS)}"
    places = 2 if amount >= _WHOLE_CENTS or amount == round(amount, 2) else 4
    number = number_format(amount, places, force_grouping=True)
    return gettext("$%(amount)s") % {"amount": number}


@register.filter
def with_commands(sentence: str) -> SafeString:
    """Show what a sentence has between backticks as code: commands and names of settings."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", conditional_escape(sentence)))  # noqa: S308 - escaped


@register.simple_tag(takes_context=True)
def help_address(context: template.Context) -> str:
    """Return the address of the docs' section about this page."""
    request = context["request"]
    match, staff = request.resolver_match, bool(getattr(request.user, "is_staff", False))
    name, _, heading = topic_of(match.url_name if match else None, staff=staff).partition("#")
    return reverse("help-page", args=[name]) + (f"#{heading}" if heading else "")


@register.simple_tag(takes_context=True)
def query_with(context: template.Context, **changes: object) -> str:
    """Return the query string with changed fields, without empty ones and the page."""
    left_out = {"page", *changes}
    fields = {name: all_ for name, all_ in context["request"].GET.lists() if name not in left_out}
    fields |= {name: [str(value)] for name, value in changes.items() if value not in ("", None)}
    return f"?{urlencode(fields, doseq=True)}"


@register.simple_tag(takes_context=True)
def filter_with(context: template.Context, name: str, value: object) -> str:
    """Return the query string with one changed field, named by a variable."""
    return query_with(context, **{name: value})


@register.filter
def add_text(before: str, after: object) -> str:
    """Concatenate two values as text."""
    return f"{before}{after}"


@register.filter
def begins(text: str, start: str) -> bool:
    """Return True if the text starts with the prefix."""
    return text.startswith(start)
