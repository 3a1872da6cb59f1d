"""Models of the marketplace."""

from marketplace.models.addition import Addition
from marketplace.models.audit_anchor import AuditAnchor
from marketplace.models.event_log import EventLogState, SentCall
from marketplace.models.installation import Installation, InstallationEvent
from marketplace.models.listing import Listing, ListingFile, ListingVersion
from marketplace.models.listing_vector import ListingVector, ListingWords
from marketplace.models.notification import NotificationChannel, NotificationDelivery
from marketplace.models.source import Source

__all__ = [
    "Addition",
    "AuditAnchor",
    "EventLogState",
    "Installation",
    "InstallationEvent",
    "Listing",
    "ListingFile",
    "ListingVector",
    "ListingVersion",
    "ListingWords",
    "NotificationChannel",
    "NotificationDelivery",
    "SentCall",
    "Source",
]
