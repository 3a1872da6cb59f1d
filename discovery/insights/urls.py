"""URLs of Insights, and of Risk, a page of Access about what was called."""

from django.urls import path

from discovery.insights.pages import downloads, overview, risk, teaching, use

urlpatterns = [
    path("insights/", overview.figures, name="insights"),
    path("insights/outcomes/", overview.outcomes, name="insights-outcomes"),
    path("insights/tools/", overview.tools, name="insights-tools"),
    path("insights/use/", use.use, name="insights-use"),
    path("insights/quotas/", use.quotas, name="insights-quotas"),
    path("insights/quotas/<int:pk>/delete/", use.remove_quota, name="insights-quota-remove"),
    path("insights/prices/", use.prices, name="insights-prices"),
    path("insights/prices/<int:pk>/delete/", use.remove_price, name="insights-price-remove"),
    path("insights/teach/", teaching.teach, name="insights-teach"),
    path("insights/csv/<slug:name>/", downloads.download, name="insights-csv"),
    path("access/risk/", risk.risk, name="access-risk"),
    path("access/risk/csv/<slug:name>/", risk.download, name="access-risk-csv"),
]
