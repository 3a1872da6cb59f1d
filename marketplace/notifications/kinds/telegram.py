"""Bots of Telegram: the address of `sendMessage`, with the bot's token and the chat in it."""

from typing import Any

from marketplace.notifications.kinds.base import Message

LABEL = "Telegram"
SIGNED = False
QUERY = ("chat_id",)


def body(message: Message) -> dict[str, Any]:
    """Return the parameters beside those of the address. Without `parse_mode`, text is plain."""
    # The link is part of the text: Telegram refuses a button whose URL has no public host.
    return {
        "text": f"{message.plain}\n{message.url}",
        "link_preview_options": {"is_disabled": True},
    }
