"""Tables of the shop."""

from marketplace.models.listing import Listing

__all__ = ["Listing"]
