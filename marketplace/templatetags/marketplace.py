"""Template filters of the marketplace's pages: commands, durations and problems."""

import shlex
import unicodedata
from collections.abc import Iterable

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from catalog.formats.secret_redaction import word_addresses
from catalog.servers.client.server_problems import label_problem
from marketplace.installs.own_servers import are_own_servers_allowed
from marketplace.notifications.kinds.registry import label_kind as label_channel_kind
from marketplace.offers.kinds.registry import label_kind as label_source_kind

register = template.Library()
register.filter("problem_label", label_problem)
register.filter("channel_kind", label_channel_kind)
register.filter("source_kind", label_source_kind)


@register.simple_tag
def may_add_servers() -> bool:
    """Return True where people may add servers of their own."""
    return are_own_servers_allowed()


@register.filter
def command_line(parts: Iterable[str]) -> str:
    """Quote a command for a shell, with invisible characters escaped, and addresses worded."""
    return " ".join(_visible(shlex.quote(word_addresses(part))) for part in parts)


def _visible(text: str) -> str:
    """Escape characters that are invisible, or change how others look."""
    return "".join(
        f"\\u{{{ord(character):x}}}"
        if unicodedata.category(character)[0] in "CZ" and character != " "
        else character
        for character in text
    )


@register.filter
def seconds(number: float | None) -> str:
    """Format a duration for people."""
    if number is None:
        return ""
    if number < 10:
        return _("%(seconds)s s") % {"seconds": number_format(number, 1)}
    minutes, rest = divmod(round(number), 60)
    values = {"minutes": minutes, "seconds": rest}
    return (_("%(minutes)s min %(seconds)s s") if minutes else _("%(seconds)s s")) % values
