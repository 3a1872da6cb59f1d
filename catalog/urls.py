"""The API of the catalogue, below api/v1/."""

from django.urls import path

from catalog.access.api import explanation_api, grant_api, merge_api, rule_api
from catalog.lookups import graph_api, lookup_api
from catalog.runtime import runtime_api

urlpatterns = [
    path("capabilities", runtime_api.CapabilitiesView.as_view(), name="api-capabilities"),
    path("capabilities/batch", lookup_api.BatchView.as_view(), name="api-capabilities-batch"),
    path(
        "capabilities/<str:full_name>", runtime_api.CapabilityView.as_view(), name="api-capability"
    ),
    path(
        "runtime-capabilities",
        runtime_api.OwnCapabilitiesView.as_view(),
        name="api-own-capabilities",
    ),
    path(
        "runtime-capabilities/<str:full_name>",
        runtime_api.CapabilityStateView.as_view(),
        name="api-capability-state",
    ),
    path("categories", lookup_api.CategoriesView.as_view(), name="api-categories"),
    path("tree", lookup_api.TreeView.as_view(), name="api-tree"),
    path("names", lookup_api.NamesView.as_view(), name="api-names"),
    path("graph/<str:full_name>", graph_api.GraphView.as_view(), name="api-graph"),
    path("stats", lookup_api.StatisticsView.as_view(), name="api-stats"),
    path("access/explain", explanation_api.ExplainView.as_view(), name="api-access-explain"),
    path("access/reach", explanation_api.ReachView.as_view(), name="api-access-reach"),
    path("access/holders", explanation_api.HoldersView.as_view(), name="api-access-holders"),
    path("groups/<int:pk>/merge", merge_api.GroupMergeView.as_view(), name="api-group-merge"),
    path("grants", grant_api.GrantsView.as_view(), name="api-grants"),
    path("access/grants", grant_api.EarlierGrantsView.as_view(), name="api-access-grants"),
    path("access/rules", rule_api.RulesView.as_view(), name="api-access-rules"),
    path("access/rules/<int:pk>", rule_api.RuleView.as_view(), name="api-access-rule"),
    path("access/kept-rules", rule_api.KeptRulesView.as_view(), name="api-access-kept"),
    path("access/kept-rules/<int:pk>", rule_api.KeptRuleView.as_view(), name="api-access-lift"),
]
