"""Where Insights lives."""

from django.urls import path

from discovery.views.insights import downloads, pages

urlpatterns = [
    path("insights/", pages.figures, name="insights"),
    path("insights/outcomes/", pages.outcomes, name="insights-outcomes"),
    path("insights/tools/", pages.tools, name="insights-tools"),
    path("insights/csv/<slug:name>/", downloads.download, name="insights-csv"),
]
