"""Messages, reasons and values of calls in the reader's language."""

from typing import Any

from django import template
from django.utils.translation import gettext as _

from discovery.calls.state import label_reason
from discovery.calls.view import translate_message
from discovery.chats.providers.registry import label_provider

register = template.Library()
register.filter("call_message", translate_message)
register.filter("call_reason", label_reason)
register.filter("chat_provider", label_provider)


@register.filter
def value_source(value: dict[str, Any]) -> str:
    """Return where a value of a call comes from, as the guard on flows has found it."""
    names = {"tool": value.get("tool", ""), "where": value.get("where", "")}
    sentences = {
        "user": _("the message"),
        "admin": _("the values that an admin trusts"),
        "trusted_tool": _("the trusted tool %(tool)s"),
        "named_record": _("%(tool)s, as the id of “%(where)s”, which the message names"),
        "this_turn": _("%(tool)s, which made it in this turn"),
        "model": _("neither the message nor any answer"),
        "read": _("%(tool)s (%(where)s), not the message")
        if names["where"]
        else _("%(tool)s, not the message"),
    }
    return sentences.get(str(value.get("source")), "") % names


@register.filter
def question_facts(question: dict[str, Any]) -> str:
    """Return whom a server asked during a call, and what became of it."""
    recipients = {
        "elicitation": _("The person"),
        "sampling": _("The client's model"),
        "roots": _("The client, for its folders"),
    }
    states = {
        "asked": _("asked; the answer comes with another call"),
        "accepted": _("accepted"),
        "declined": _("declined"),
        "cancelled": _("cancelled"),
        "answered": _("answered"),
        "failed": _("answered with an error"),
        "unanswered": _("did not answer"),
        "withheld": _("not asked, because Pegboard withheld the question"),
    }
    whom, state = str(question.get("kind")), str(question.get("state"))
    return f"{recipients.get(whom, whom)}: {states.get(state, state)}"
