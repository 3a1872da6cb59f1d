"""Tables of the shop."""

from marketplace.models.installation import Installation, InstallationEvent
from marketplace.models.listing import Listing

__all__ = ["Installation", "InstallationEvent", "Listing"]
