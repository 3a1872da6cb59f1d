"""Preview of a selection, and the right to each tool in it. Stores no turn."""

from dataclasses import dataclass

from catalog.access.grounds import Ground, grounds_for
from catalog.models import Capability
from discovery.answer.tiers.tier_options import TierOptions
from discovery.select.selection import Asked, Selection
from discovery.select.selector import select_capabilities
from discovery.turns.discover import TieredDiscovery, tier_request, write_tiers

_READ = ("full_name", "integration__title")


@dataclass(frozen=True, slots=True)
class SelectionPreview:
    """A request, its selection, and the ground of each tool by primary key."""

    asked: Asked
    selection: Selection
    grounds: dict[int, Ground]


def preview_selection(asked: Asked, *, to_themselves: bool) -> SelectionPreview:
    """Select for the message and explain the rights, in three statements; one if nothing is
    selected.

    `to_themselves` is True if the caller is the reader.
    """
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
    return SelectionPreview(asked, selection, grounds)


def preview_tiers(asked: Asked) -> TieredDiscovery:
    """Write the tiers for the same message, with the deployment's options."""
    options = TierOptions.of_the_deployment()
    asked = tier_request(asked, options)
    return write_tiers(asked, select_capabilities(asked), options=options)
