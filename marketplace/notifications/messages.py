"""Messages in the form that each kind of channel takes, in the active language. Pure.

Titles and texts have names and words of other people in them, so each is sent as plain text.
"""

from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _

MOST_CHARACTERS = 2_500  # Slack takes 3,000 in a block


@dataclass(frozen=True, slots=True)
class Message:
    """A message: title, text, and the address of the page that handles it."""

    title: str
    text: str
    url: str

    @property
    def plain(self) -> str:
        """Return the whole message as lines."""
        return "\n".join(filter(None, (self.title, self.text[:MOST_CHARACTERS])))


def slack_body(message: Message) -> dict[str, Any]:
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


def teams_body(message: Message) -> dict[str, Any]:
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


def webhook_body(message: Message, *, topic: str, at: str, event: str) -> dict[str, Any]:
    """Return the body of a webhook: type, timestamp and data, as the specification advises."""
    data = {"event": event, "title": message.title, "text": message.text, "url": message.url}
    return {"type": f"pegboard.{topic}", "timestamp": at, "data": data}
