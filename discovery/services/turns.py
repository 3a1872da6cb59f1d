"""Turns: what was asked and answered, kept so that outcomes can be reported and savings
measured."""

from dataclasses import replace

from django.conf import settings

from discovery.models import Turn
from discovery.selected import Asked, Selection
from discovery.services.selection import select_capabilities


def select_for_turn(asked: Asked) -> Selection:
    """A selection whose turn is stored: one statement more than `select_capabilities`."""
    selection = select_capabilities(asked)
    return replace(selection, turn_id=_store(asked, selection).pk)


def _store(asked: Asked, selection: Selection) -> Turn:
    return Turn.objects.create(
        user_id=asked.caller.user_id,
        group_id=asked.caller.group_id,
        space_id=asked.caller.space_id,
        message=asked.message if settings.PEGBOARD_KEEP_MESSAGES else "",
        selected=[[item.identifier, item.score] for item in selection.selected],
        tokens_all=selection.tokens_all,
        tokens_selected=selection.tokens_selected,
        degraded=list(selection.degraded),
        milliseconds=selection.timings["total"],
    )
