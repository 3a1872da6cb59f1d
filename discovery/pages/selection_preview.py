"""Trying a message: the selection as a chat backend would get it, and by which right each tool is
there. No turn is stored."""

from dataclasses import dataclass

from catalog.access.grounds import Ground, grounds_for
from catalog.models import Capability
from discovery.answer.tiers.tier_options import TierOptions
from discovery.select.selection import Asked, Selection
from discovery.select.selector import select_capabilities
from discovery.turns.discover import Discovery, asked_in_tiers, tell

_READ = ("full_name", "integration__title")


@dataclass(frozen=True, slots=True)
class Tried:
    """A question, its answer, and by primary key the right by which each tool is in it."""

    asked: Asked
    selection: Selection
    grounds: dict[int, Ground]


def try_message(asked: Asked, *, to_themselves: bool) -> Tried:
    """Three statements: the selection, the tools' integrations, and the grounds; only the first
    where nothing is selected. `to_themselves` says whether the caller is who reads it."""
    selection = select_capabilities(asked)
    found = Capability.objects.usable_by(asked.caller).filter(
        pk__in=[item.pk for item in selection.selected]
    )
    rows = list(found.select_related("integration").only(*_READ)) if selection.selected else []
    grounds = (
        grounds_for(caller=asked.caller, capabilities=rows, to_themselves=to_themselves)
        if rows
        else {}
    )
    return Tried(asked, selection, grounds)


def try_in_tiers(asked: Asked) -> Discovery:
    """What the same message gives in tiers, as the deployment has settled them."""
    options = TierOptions.of_the_deployment()
    asked = asked_in_tiers(asked, options)
    return tell(asked, select_capabilities(asked), options=options)
