"""Incoming webhooks of Microsoft Teams, which take adaptive cards."""

from typing import Any

from django.utils.translation import gettext as _

from marketplace.notifications.kinds.base import MOST_CHARACTERS, Message

LABEL = "Microsoft Teams"
SIGNED = False
QUERY = ()


def body(message: Message) -> dict[str, Any]:
    """Return the body for an incoming webhook of Teams: an adaptive card."""
    # Text runs are plain; text blocks would read Markdown.
    runs = [
        {"type": "TextRun", "text": message.title, "weight": "Bolder"},
        {"type": "TextRun", "text": f"\n{message.text[:MOST_CHARACTERS]}"},
    ]
    card = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": runs}],
        "actions": [{"type": "Action.OpenUrl", "title": _("Open in Pegboard"), "url": message.url}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}
