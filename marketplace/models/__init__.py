"""Models of the marketplace."""

from marketplace.models.event_log import AuditAnchor, EventLogState, SentCall
from marketplace.models.installation import Addition, Installation, InstallationEvent
from marketplace.models.listing import (
    Listing,
    ListingFile,
    ListingVector,
    ListingVersion,
    ListingWords,
)
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
