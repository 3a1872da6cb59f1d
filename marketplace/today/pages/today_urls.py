"""URLs of Today."""

from django.urls import path

from marketplace.today.pages import today_forms
from marketplace.today.pages import today_forms as today_page

urlpatterns = [
    path("today/", today_page.today, name="today"),
    path("today/calls/", today_forms.decide_calls, name="today-calls"),
    path("today/requests/", today_forms.decline_requests, name="today-requests"),
    path("today/integrations/", today_forms.check_integrations, name="today-integrations"),
    path("today/reviews/", today_forms.decide_reviews, name="today-reviews"),
    path("today/updates/", today_forms.begin_updates, name="today-updates"),
    path("today/alerts/", today_forms.see_alerts, name="today-alerts"),
    path("today/keys/", today_forms.renew_keys, name="today-keys"),
]
