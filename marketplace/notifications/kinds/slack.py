"""Incoming webhooks of Slack."""

from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _

from marketplace.notifications.kinds.base import Message

LABEL = "Slack"
SIGNED = False
QUERY = ()


def body(message: Message) -> dict[str, Any]:
    """Return the body for an incoming webhook of Slack."""
    block = {"type": "section", "text": {"type": "plain_text", "text": message.plain}}
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": _("Open in Pegboard")},
        "url": message.url,
    }
    # The text is shown in notifications, where &, < and > are markup.
    return {
        "text": escape(message.title),
        "blocks": [block, {"type": "actions", "elements": [button]}],
    }
