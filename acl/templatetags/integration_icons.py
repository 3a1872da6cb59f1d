"""The icon of an integration: its stored picture, or else its first letter on a colour of its own.

Names stand beside icons, so both are hidden from screen readers.
"""

import zlib
from uuid import UUID

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()
HUES = 12  # of the classes in static/pegboard/components.css


@register.simple_tag
def integration_icon(
    title: str, picture: UUID | str | None = None, *, small: bool = False
) -> SafeString:
    """Render the picture of this key, or the letter of the title."""
    style = "face face-small" if small else "face"
    if picture:
        address = reverse("icon", args=[picture])
        return format_html('<img class="{}" src="{}" alt="" loading="lazy" />', style, address)
    return format_html(
        '<span class="{} hue-{}" aria-hidden="true">{}</span>',
        style,
        hue_of(title),
        letter_of(title),
    )


def letter_of(title: str) -> str:
    """Return the first letter or digit, upper case where the script knows cases."""
    return next((character.upper()[:1] for character in title if character.isalnum()), "?")


def hue_of(title: str) -> int:
    """Return the number of the colour: always the same for a title."""
    return zlib.crc32(title.encode(errors="replace")) % HUES
