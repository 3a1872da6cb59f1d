"""The API of the catalogue, below api/v1/."""

from django.urls import path

from catalog.access.api import explanations, grants, merging
from catalog.capabilities import lookup_api
from catalog.relations import api
from catalog.runtime import api as runtime_api

urlpatterns = [
    path("capabilities", runtime_api.RuntimeCapabilitiesView.as_view(), name="api-capabilities"),
    path("capabilities/batch", lookup_api.BatchView.as_view(), name="api-capabilities-batch"),
    path(
        "capabilities/<str:full_name>",
        runtime_api.RuntimeCapabilityView.as_view(),
        name="api-capability",
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
    path("graph/<str:full_name>", api.GraphView.as_view(), name="api-graph"),
    path("stats", lookup_api.StatisticsView.as_view(), name="api-stats"),
    path("access/explain", explanations.ExplainView.as_view(), name="api-access-explain"),
    path("access/reach", explanations.ReachView.as_view(), name="api-access-reach"),
    path("access/holders", explanations.HoldersView.as_view(), name="api-access-holders"),
    path("groups/<int:pk>/merge", merging.GroupMergeView.as_view(), name="api-group-merge"),
    path("grants", grants.GrantsView.as_view(), name="api-grants"),
    path("access/grants", grants.EarlierGrantsView.as_view(), name="api-access-grants"),
    path("access/rules", grants.RulesView.as_view(), name="api-access-rules"),
    path("access/rules/<int:pk>", grants.RuleView.as_view(), name="api-access-rule"),
    path("access/kept-rules", grants.KeptRulesView.as_view(), name="api-access-kept"),
    path("access/kept-rules/<int:pk>", grants.KeptRuleView.as_view(), name="api-access-lift"),
]
