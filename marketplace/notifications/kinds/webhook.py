"""Webhooks by the Standard Webhooks specification, which are signed."""

from typing import Any

from django.utils.translation import gettext_lazy

from marketplace.notifications.kinds.base import Message

LABEL = gettext_lazy("Webhook")
SIGNED = True
QUERY = ()


def body(message: Message) -> dict[str, Any]:
    """Return the body of a webhook: type, timestamp and data, as the specification advises."""
    data = {
        "event": message.event,
        "title": message.title,
        "text": message.text,
        "url": message.url,
    }
    return {"type": f"pegboard.{message.topic}", "timestamp": message.at, "data": data}
