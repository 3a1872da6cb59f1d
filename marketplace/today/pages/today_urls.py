"""URLs of Today."""

from django.urls import path

from marketplace.today.pages import today_page

urlpatterns = [
    path("today/", today_page.today, name="today"),
    path("today/calls/", today_page.decide_calls, name="today-calls"),
    path("today/requests/", today_page.decline_requests, name="today-requests"),
    path("today/integrations/", today_page.check_integrations, name="today-integrations"),
]
