"""Template components with a body; their markup is in templates/_components/."""

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from acl.templatetags.pegboard import icon

register = template.Library()


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
