"""Admin classes of the marketplace. All are read-only: sources and workers write the rows."""

from django.contrib import admin

from acl.admin.admin_base import ReadOnlyAdmin
from marketplace.models import (
    Addition,
    AuditAnchor,
    EventLogState,
    Installation,
    InstallationEvent,
    Listing,
    ListingFile,
    ListingVector,
    ListingVersion,
    ListingWords,
    NotificationChannel,
    NotificationDelivery,
    OwnServerPolicy,
    SentCall,
    Source,
)


@admin.register(Source)
class SourceAdmin(ReadOnlyAdmin):
    list_display = ("title", "slug", "kind", "location", "state", "refreshed_at")
    list_filter = ("kind", "state")
    search_fields = ("title", "slug", "location")


@admin.register(Listing)
class ListingAdmin(ReadOnlyAdmin):
    list_display = ("title", "slug", "kind", "source", "version", "publisher")
    list_filter = ("kind", "source")
    list_select_related = ("source",)
    search_fields = ("title", "slug", "description", "publisher")


@admin.register(ListingVersion)
class ListingVersionAdmin(ReadOnlyAdmin):
    list_display = ("listing", "version", "status", "is_latest", "published_at")
    list_filter = ("status",)
    list_select_related = ("listing",)
    search_fields = ("listing__slug", "version")


@admin.register(ListingFile)
class ListingFileAdmin(ReadOnlyAdmin):
    list_display = ("listing", "path")
    list_select_related = ("listing",)
    search_fields = ("listing__slug", "path")
    exclude = ("content",)


@admin.register(Addition)
class AdditionAdmin(ReadOnlyAdmin):
    list_display = ("name", "what", "address", "state", "reason", "by", "created_at")
    list_filter = ("what", "state")
    list_select_related = ("by",)
    search_fields = ("name", "address", "listing", "by__username")


@admin.register(Installation)
class InstallationAdmin(ReadOnlyAdmin):
    list_display = ("integration", "state", "message", "by", "created_at")
    list_filter = ("state",)
    list_select_related = ("integration", "by")
    search_fields = ("integration__slug", "message", "by__username")


@admin.register(InstallationEvent)
class InstallationEventAdmin(ReadOnlyAdmin):
    list_display = ("installation", "state", "message", "created_at")
    list_filter = ("state",)
    list_select_related = ("installation__integration",)
    search_fields = ("installation__integration__slug", "message")


@admin.register(ListingVector)
class ListingVectorAdmin(ReadOnlyAdmin):
    exclude = ("vector", "signs")
    list_display = ("listing", "model", "attempts", "failure", "sent_at")
    list_select_related = ("listing", "model")
    search_fields = ("listing__slug", "failure")


@admin.register(ListingWords)
class ListingWordsAdmin(ReadOnlyAdmin):
    exclude = ("terms",)
    list_display = ("listing", "of")
    list_select_related = ("listing",)
    search_fields = ("listing__slug",)


@admin.register(AuditAnchor)
class AuditAnchorAdmin(ReadOnlyAdmin):
    list_display = ("number", "noted_at", "failure")
    search_fields = ("failure",)


@admin.register(EventLogState)
class EventLogStateAdmin(ReadOnlyAdmin):
    list_display = ("audit_number", "calls_until", "sent_at", "failure")
    search_fields = ("failure",)


@admin.register(SentCall)
class SentCallAdmin(ReadOnlyAdmin):
    list_display = ("call_id", "ended_at")


@admin.register(OwnServerPolicy)
class OwnServerPolicyAdmin(ReadOnlyAdmin):
    list_display = ("allowed",)


@admin.register(NotificationChannel)
class NotificationChannelAdmin(ReadOnlyAdmin):
    list_display = ("kind", "host", "owner", "group", "paused", "created_at")
    list_filter = ("kind", "paused")
    list_select_related = ("owner", "group")
    exclude = ("sealed_address", "sealed_secret")


@admin.register(NotificationDelivery)
class NotificationDeliveryAdmin(ReadOnlyAdmin):
    list_display = ("event", "channel", "state", "attempts", "status", "created_at")
    list_filter = ("state", "topic")
    list_select_related = ("channel__owner", "channel__group")
