"""URLs of the discovery API, below api/v1/."""

from django.urls import path

from discovery.api.approval_api import ApprovalsView, ApprovalView, ApproveView, RejectView
from discovery.api.call_api import CallEventsView, CallView, CancelCallView, ExecuteView
from discovery.api.call_log_api import CallLogView
from discovery.api.call_policy_api import CallPolicyView
from discovery.api.call_use_api import CallUseView
from discovery.api.chat_model_api import ChatModelsView, ChatModelView
from discovery.api.discover_api import DiscoverView
from discovery.api.insights_api import AlertsView, FiguresView, WindowsView
from discovery.api.learning_api import LearningView
from discovery.api.metatool_api import MetaToolsView, MetaToolView
from discovery.api.plan_api import PlanView
from discovery.api.price_api import PricesView, PriceView
from discovery.api.quota_api import QuotasView, QuotaView
from discovery.api.risk_api import RisksView
from discovery.api.select_api import SelectView
from discovery.api.tool_use_api import ToolUseView
from discovery.api.turn_api import OutcomeView, ResultsView, StartView, TurnView

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
    path("chat-models", ChatModelsView.as_view(), name="api-chat-models"),
    path("chat-models/<int:pk>", ChatModelView.as_view(), name="api-chat-model"),
    path("groups/<int:pk>/call-policy", CallPolicyView.as_view(), name="api-call-policy"),
    path("approvals", ApprovalsView.as_view(), name="api-approvals"),
    path("approvals/<uuid:pk>", ApprovalView.as_view(), name="api-approval"),
    path("approvals/<uuid:pk>/approve", ApproveView.as_view(), name="api-approve"),
    path("approvals/<uuid:pk>/reject", RejectView.as_view(), name="api-reject"),
]
