"""URLs of Insights, and of Risk, a page of Access about what was called."""

from django.urls import path

from discovery.insights.pages import (
    downloads,
    insights_pages,
    price_pages,
    risk_page,
    teach_page,
    use_pages,
)

urlpatterns = [
    path("insights/", insights_pages.figures, name="insights"),
    path("insights/outcomes/", insights_pages.outcomes, name="insights-outcomes"),
    path("insights/tools/", insights_pages.tools, name="insights-tools"),
    path("insights/use/", use_pages.use, name="insights-use"),
    path("insights/quotas/", use_pages.quotas, name="insights-quotas"),
    path("insights/quotas/<int:pk>/delete/", use_pages.remove_quota, name="insights-quota-remove"),
    path("insights/prices/", price_pages.prices, name="insights-prices"),
    path(
        "insights/prices/<int:pk>/delete/", price_pages.remove_price, name="insights-price-remove"
    ),
    path("insights/teach/", teach_page.teach, name="insights-teach"),
    path("insights/csv/<slug:name>/", downloads.download, name="insights-csv"),
    path("access/risk/", risk_page.risk, name="access-risk"),
    path("access/risk/csv/<slug:name>/", risk_page.download, name="access-risk-csv"),
]
