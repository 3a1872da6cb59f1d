"""Template components with a body, whose markup is in templates/_components/, and icons."""

import re
import zlib
from functools import cache
from pathlib import Path
from uuid import UUID

from django import template
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from acl.platform.strict_json import parse_json
from acl.templatetags.pegboard import INTEGRATION_KIND_ICONS, icon

register = template.Library()

# Names stand beside an integration's icon, so all icons are hidden from screen readers. A mark says
# what a tool is about, not who made it: it belongs to its owner, who endorses nothing here.
HUES = 12  # of the classes in static/pegboard/components.css
_NAMES = Path(__file__).with_name("marks.json")
_BESIDE_NAME = re.compile(r"[,(:]| for | on | - ")
# Words that are no part of a brand's name.
_TAILS = frozenset(
    ["api", "charts", "cli", "development", "documentation", "mcp", "server", "tools", "workspace"]
)


@register.simple_tag
def integration_icon(
    title: str, picture: UUID | str | None = None, kind: str = "", *, small: bool = False
) -> SafeString:
    """Render the picture of this key, the mark that the title names, the kind's, or a letter."""
    style = "face face-small" if small else "face"
    if picture:
        address = reverse("icon", args=[picture])
        return format_html('<img class="{}" src="{}" alt="" loading="lazy" />', style, address)
    if mark := mark_of(title):
        return format_html(
            '<span class="{} face-mark" aria-hidden="true">'
            '<svg><use href="{}#{}"></use></svg></span>',
            style,
            static("pegboard/marks.svg"),
            mark,
        )
    drawing = INTEGRATION_KIND_ICONS.get(kind)
    return format_html(
        '<span class="{} hue-{}" aria-hidden="true">{}</span>',
        style,
        hue_of(title),
        icon(drawing) if drawing else letter_of(title),
    )


def mark_of(title: str) -> str:
    """Return the name of the mark of the brand that the title names, or "".

    Only a whole name counts: "GitHub, on this machine" and "Notion MCP server", not "Linear
    algebra".
    """
    words = _BESIDE_NAME.split(title[:200], maxsplit=1)[0].split()
    while words and words[-1].casefold() in _TAILS:
        words.pop()
    return mark_names().get(name_key("".join(words)), "")


def name_key(name: str) -> str:
    """Return a brand's name as it is compared: its letters and digits, in lower case."""
    return "".join(character for character in name.casefold() if character.isalnum())


@cache
def mark_names() -> dict[str, str]:
    """Return the marks in `marks.svg` by the names that lead to them; made by `make marks`."""
    return {name_key(name): mark for name, mark in parse_json(_NAMES.read_bytes()).items()}


def letter_of(title: str) -> str:
    """Return the first letter or digit, upper case where the script knows cases."""
    return next((character.upper()[:1] for character in title if character.isalnum()), "?")


def hue_of(title: str) -> int:
    """Return the number of the colour: always the same for a title."""
    return zlib.crc32(title.encode(errors="replace")) % HUES


@register.simple_block_tag(takes_context=True, end_name="endfilters")
def filters(
    context: template.Context,
    content: SafeString,
    label: str,
    value: str | None = "",
    *,
    placeholder: str = "",
    target: str = "#found",
    name: str = "q",
) -> SafeString:
    """Render a search form that updates `target` while typing; the body has further fields."""
    return _component(
        context,
        "filters",
        slot=content,
        label=label,
        value=value or "",
        placeholder=placeholder or label,
        target=target,
        name=name,
    )


@register.simple_block_tag(takes_context=True, end_name="endnothing_here")
def nothing_here(
    context: template.Context, content: SafeString, title: str = "", *, small: bool = False
) -> SafeString:
    """Render an empty state: its meaning, and the next step in the body."""
    return _component(context, "nothing_here", slot=content, title=title, small=small)


@register.simple_block_tag(takes_context=True, end_name="endsection_head")
def section_head(
    context: template.Context,
    content: SafeString,
    id: str,
    title: str,
    *,
    csv: str = "",
    of: str = "",
    when: object = True,
) -> SafeString:
    """Render a section's heading; the body says what it shows, `csv` has the same as a file.

    Without `when`, which is true for a section with rows, there is no link to the file.
    """
    address = csv if when else ""
    return _component(
        context,
        "section_head",
        slot=content.strip() and content,
        id=id,
        title=title,
        csv=address,
        of=of,
    )


@register.simple_block_tag(takes_context=True, end_name="endconfirm")
def confirm(
    context: template.Context,
    content: SafeString,
    label: str,
    *,
    keep: str,
    keep_label: str = "",
    action: str = "",
) -> SafeString:
    """Render a confirmation before something is lost; the body has further fields."""
    return _component(
        context,
        "confirm",
        slot=content.strip() and content,
        label=label,
        keep=keep,
        keep_label=keep_label or _("Cancel"),
        action=action,
    )


@register.simple_tag
def badge(tone: str, drawing: str, label: str) -> SafeString:
    """Render a status badge; `tone` is good, note, caution, danger or ""."""
    return format_html('<span class="badge {}">{}{}</span>', tone, icon(drawing), label)


def _component(context: template.Context, piece: str, /, **fields: object) -> SafeString:
    """Render the component's template, with the request of the page."""
    around = {key: context.get(key) for key in ("request", "csrf_token")}
    return render_to_string(f"_components/{piece}.html", {**around, **fields})
