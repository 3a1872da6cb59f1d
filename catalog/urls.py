"""The API of the catalogue, below api/v1/."""

from django.urls import path

from catalog.api import access, access_rules, graph, lookups

urlpatterns = [
    path("capabilities", lookups.CapabilitiesView.as_view(), name="api-capabilities"),
    path("capabilities/batch", lookups.BatchView.as_view(), name="api-capabilities-batch"),
    path("capabilities/<str:full_name>", lookups.CapabilityView.as_view(), name="api-capability"),
    path("categories", lookups.CategoriesView.as_view(), name="api-categories"),
    path("tree", lookups.TreeView.as_view(), name="api-tree"),
    path("names", lookups.NamesView.as_view(), name="api-names"),
    path("graph/<str:full_name>", graph.GraphView.as_view(), name="api-graph"),
    path("stats", lookups.StatisticsView.as_view(), name="api-stats"),
    path("access/explain", access.ExplainView.as_view(), name="api-access-explain"),
    path("access/reach", access.ReachView.as_view(), name="api-access-reach"),
    path("access/holders", access.HoldersView.as_view(), name="api-access-holders"),
    path("access/rules", access_rules.RulesView.as_view(), name="api-access-rules"),
    path("access/rules/<int:pk>", access_rules.RuleView.as_view(), name="api-access-rule"),
]
