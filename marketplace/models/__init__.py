"""Models of the marketplace."""

from marketplace.models.event_log import AuditAnchor, EventLogState, SentCall
from marketplace.models.installation import (
    Addition,
    Installation,
    InstallationEvent,
    OwnServerPolicy,
)
from marketplace.models.listing import (
    Listing,
    ListingFile,
    ListingVector,
    ListingVersion,
    ListingWords,
    Source,
)
from marketplace.models.notification import NotificationChannel, NotificationDelivery

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
    "OwnServerPolicy",
    "SentCall",
    "Source",
]
