"""URLs of the discovery API, below api/v1/."""

from django.urls import path

from discovery.advice.api import AdviceView
from discovery.applications.api import (
    ApplicationKeysView,
    ApplicationKeyView,
    ApplicationsView,
    ApplicationView,
    ConversationsView,
)
from discovery.calls.api import CallEventsView, CallView, CancelCallView, ExecuteView
from discovery.calls.approval_api import ApprovalsView, ApprovalView, ApproveView, RejectView
from discovery.calls.log_api import CallLogView
from discovery.calls.quota_api import CallPolicyView, QuotasView, QuotaView
from discovery.chats.model_api import ChatModelsView, ChatModelView
from discovery.example_requests.api import ExampleRequestsView
from discovery.insights.api import AlertsView, FiguresView, RisksView, WindowsView
from discovery.insights.use_api import CallUseView, PricesView, PriceView, ToolUseView
from discovery.mcp.metatool_api import MetaToolsView, MetaToolView
from discovery.teaching.learning_api import LearningView
from discovery.turns.api import OutcomeView, PlanView, ResultsView, StartView, TurnView
from discovery.turns.select_serializers import DiscoverView, SelectView

urlpatterns = [
    path("select", SelectView.as_view(), name="api-select"),
    path("discover", DiscoverView.as_view(), name="api-discover"),
    path("plan", PlanView.as_view(), name="api-plan"),
    path("turns/<uuid:turn_id>", TurnView.as_view(), name="api-turn"),
    path("turns/<uuid:turn_id>/start", StartView.as_view(), name="api-turn-start"),
    path("turns/<uuid:turn_id>/results", ResultsView.as_view(), name="api-turn-results"),
    path("turns/<uuid:turn_id>/outcome", OutcomeView.as_view(), name="api-turn-outcome"),
    path("outcomes/windows", WindowsView.as_view(), name="api-outcome-windows"),
    path("outcomes/alerts", AlertsView.as_view(), name="api-outcome-alerts"),
    path("figures", FiguresView.as_view(), name="api-figures"),
    path("figures/tools", ToolUseView.as_view(), name="api-figures-tools"),
    path("figures/use", CallUseView.as_view(), name="api-figures-use"),
    path("risks", RisksView.as_view(), name="api-risks"),
    path("learning", LearningView.as_view(), name="api-learning"),
    path("meta", MetaToolsView.as_view(), name="api-meta"),
    path("meta/<str:name>", MetaToolView.as_view(), name="api-meta-tool"),
    path("execute", ExecuteView.as_view(), name="api-execute"),
    path("calls", CallLogView.as_view(), name="api-calls"),
    path("calls/<uuid:pk>", CallView.as_view(), name="api-call"),
    path("calls/<uuid:pk>/events", CallEventsView.as_view(), name="api-call-events"),
    path("calls/<uuid:pk>/cancel", CancelCallView.as_view(), name="api-call-cancel"),
    path("quotas", QuotasView.as_view(), name="api-quotas"),
    path("quotas/<int:pk>", QuotaView.as_view(), name="api-quota"),
    path("prices", PricesView.as_view(), name="api-prices"),
    path("prices/<int:pk>", PriceView.as_view(), name="api-price"),
    path("advice", AdviceView.as_view(), name="api-advice"),
    path(
        "integrations/<slug:slug>/example-requests",
        ExampleRequestsView.as_view(),
        name="api-example-requests",
    ),
    path("chat-models", ChatModelsView.as_view(), name="api-chat-models"),
    path("chat-models/<int:pk>", ChatModelView.as_view(), name="api-chat-model"),
    path("groups/<int:pk>/call-policy", CallPolicyView.as_view(), name="api-call-policy"),
    path("applications", ApplicationsView.as_view(), name="api-applications"),
    path("applications/<int:pk>", ApplicationView.as_view(), name="api-application"),
    path("applications/<int:pk>/keys", ApplicationKeysView.as_view(), name="api-application-keys"),
    path(
        "applications/<int:pk>/keys/<int:key>",
        ApplicationKeyView.as_view(),
        name="api-application-key",
    ),
    path(
        "applications/<int:pk>/conversations",
        ConversationsView.as_view(),
        name="api-application-conversations",
    ),
    path("approvals", ApprovalsView.as_view(), name="api-approvals"),
    path("approvals/<uuid:pk>", ApprovalView.as_view(), name="api-approval"),
    path("approvals/<uuid:pk>/approve", ApproveView.as_view(), name="api-approve"),
    path("approvals/<uuid:pk>/reject", RejectView.as_view(), name="api-reject"),
]
