"""URLs of notification channels."""

from django.urls import path

from marketplace.notifications.pages import channel

urlpatterns = [
    path("account/notifications/", channel.mine, name="notifications"),
    path("account/notifications/<int:pk>/", channel.my_channel, name="notification-channel"),
    path("access/notifications/", channel.of_groups, name="access-notifications"),
    path(
        "access/notifications/<int:pk>/",
        channel.group_channel,
        name="access-notification-channel",
    ),
]
