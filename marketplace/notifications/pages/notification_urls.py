"""URLs of notification channels."""

from django.urls import path

from marketplace.notifications.pages import channel_pages

urlpatterns = [
    path("account/notifications/", channel_pages.mine, name="notifications"),
    path("account/notifications/<int:pk>/", channel_pages.my_channel, name="notification-channel"),
    path("access/notifications/", channel_pages.of_groups, name="access-notifications"),
    path(
        "access/notifications/<int:pk>/",
        channel_pages.group_channel,
        name="access-notification-channel",
    ),
]
