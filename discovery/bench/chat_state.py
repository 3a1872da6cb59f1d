"""States of messages, changed by compare-and-set: of two that end one, one does."""

from django.db.models.functions import Now

from acl.platform.jobs.job_rows import move
from discovery.flows.turn_memory import forget_turn
from discovery.models import ChatMessage


def end_message(message: ChatMessage, state: ChatMessage.State, reason: str = "") -> bool:
    """End a message, and forget its turn's words; return False if it has ended already."""
    if message.state not in ChatMessage.ACTIVE:
        return False
    if not move(message, state, reason=reason, ended_at=Now()):
        return False
    message.reason = reason
    if message.turn_id is not None:
        forget_turn(message.turn_id)
    return True
