"""URLs of the pages."""

from django.urls import include, path

from acl.people import account_pages
from acl.web import design_page
from catalog.access.pages import explanations, groups, matrix, my_tools, spaces
from catalog.runtime import pages as runtime_pages
from catalog.servers import secret_pages
from discovery.applications import pages as application_pages
from discovery.calls import approval_pages, try_pages
from discovery.calls import pages as call_pages
from discovery.chats import pages as chat_pages
from discovery.example_requests import pages as examples_page
from discovery.insights.pages import overview, risk, teaching, use
from discovery.mcp import connect
from discovery.playground import page as playground_page

urlpatterns = [
    path("", playground_page.playground, name="playground"),
    path("first-steps/", playground_page.first_run, name="first-run"),
    path("playground/people/", playground_page.people, name="people"),
    path("playground/chat/", chat_pages.chats, name="chats"),
    path("playground/chat/<uuid:pk>/", chat_pages.chat, name="chat"),
    path("playground/chat/<uuid:pk>/go-on/", chat_pages.chat_go_on, name="chat-go-on"),
    path("playground/chat/<uuid:pk>/cancel/", chat_pages.chat_cancel, name="chat-cancel"),
    path("playground/chat/<uuid:pk>/delete/", chat_pages.chat_delete, name="chat-delete"),
    path("playground/chat/<uuid:pk>/apps/<uuid:call_pk>/", chat_pages.chat_app, name="chat-app"),
    path(
        "playground/chat/<uuid:pk>/apps/<uuid:call_pk>/call/",
        chat_pages.chat_app_call,
        name="chat-app-call",
    ),
    path("playground/models/", chat_pages.chat_models, name="chat-models"),
    path(
        "playground/models/advice/<int:pk>/remove/",
        chat_pages.remove_advice,
        name="advice-remove",
    ),
    path(
        "playground/models/<int:pk>/delete/",
        chat_pages.remove_chat_model,
        name="chat-model-remove",
    ),
    path("tools/", my_tools.my_tools, name="my-tools"),
    path("tools/connect/", connect.connect, name="connect"),
    path("tools/requests/", my_tools.requests, name="requests"),
    path("tools/connections/", secret_pages.my_secrets, name="my-secrets"),
    path("tools/connections/<slug:slug>/", secret_pages.my_secret, name="my-secret"),
    path("tools/connections/<slug:slug>/sign-in/", secret_pages.sign_in, name="my-sign-in"),
    path("tools/connections/<slug:slug>/sign-out/", secret_pages.sign_out, name="my-sign-out"),
    path("connections/callback/", secret_pages.callback, name="account-callback"),
    path("connections/<uuid:public_id>/", secret_pages.progress, name="account-progress"),
    path("tools/runtime/", runtime_pages.runtime_tools, name="runtime-tools"),
    path(
        "tools/runtime/<slug:full_name>/<slug:decision>/",
        runtime_pages.decide,
        name="runtime-decide",
    ),
    path("tools/<slug:full_name>/", my_tools.tool, name="tool"),
    path("tools/<slug:full_name>/try/", try_pages.try_tool, name="try-tool"),
    path(
        "tools/<slug:full_name>/examples/<int:pk>/delete/",
        try_pages.delete_tool_example,
        name="try-example-delete",
    ),
    path("approvals/", approval_pages.approvals, name="approvals"),
    path("approvals/<uuid:pk>/", approval_pages.approval, name="approval"),
    path("calls/", call_pages.calls, name="calls"),
    path("calls/export.csv", call_pages.download, name="calls-csv"),
    path("calls/policy/", call_pages.call_policies, name="call-policies"),
    path("calls/policy/<int:pk>/", call_pages.set_call_policy, name="call-policy"),
    path("calls/<uuid:pk>/", call_pages.call, name="call"),
    path("applications/", application_pages.applications, name="applications"),
    path("applications/new/", application_pages.new_application, name="application-new"),
    path("applications/<int:pk>/", application_pages.application, name="application"),
    path(
        "applications/<int:pk>/edit/", application_pages.edit_application, name="application-edit"
    ),
    path(
        "applications/<int:pk>/delete/",
        application_pages.remove_application,
        name="application-remove",
    ),
    path(
        "applications/<int:pk>/conversation/",
        application_pages.conversation,
        name="application-conversation",
    ),
    path("applications/<int:pk>/keys/", application_pages.add_key, name="application-add-key"),
    path(
        "applications/<int:pk>/keys/<int:key>/release/",
        application_pages.release_key,
        name="application-release-key",
    ),
    path("design/", design_page.design, name="design"),
    path("group/", account_pages.choose_group, name="choose-group"),
    path("tools/<slug:full_name>/why/", explanations.why, name="tool-why"),
    path("access/", matrix.matrix, name="access"),
    path("access/kept/<int:pk>/lift/", matrix.lift_kept, name="access-lift"),
    path("access/changes/", matrix.preview_changes, name="access-changes"),
    path("access/changes/save/", matrix.save, name="access-changes-save"),
    path("access/changes/undo/", matrix.preview_undo, name="access-changes-undo"),
    path("access/groups/", groups.groups, name="access-groups"),
    path("access/groups/new/", groups.new_group, name="access-group-new"),
    path("access/groups/<int:pk>/", groups.group, name="access-group"),
    path("access/groups/<int:pk>/rename/", groups.rename, name="access-group-rename"),
    path(
        "access/groups/<int:pk>/joined/",
        groups.joined_by_default,
        name="access-group-joined",
    ),
    path("access/groups/<int:pk>/delete/", groups.delete, name="access-group-delete"),
    path("access/groups/<int:pk>/merge/", groups.merge, name="access-group-merge"),
    path("access/groups/<int:pk>/give/", groups.give, name="access-give"),
    path("access/spaces/<int:pk>/", spaces.space, name="access-space"),
    path("access/spaces/<int:pk>/warnings/", spaces.warnings, name="access-warnings"),
    path("access/spaces/<int:pk>/rename/", spaces.rename, name="access-space-rename"),
    path("access/spaces/<int:pk>/move/", spaces.move, name="access-space-move"),
    path("access/spaces/<int:pk>/delete/", spaces.delete, name="access-space-delete"),
    path("access/explain/", explanations.explain_page, name="access-explain"),
    path("access/people/<int:pk>/", explanations.reach, name="access-reach"),
    path("access/tools/<slug:full_name>/", explanations.holders, name="access-holders"),
    path("access/requests/", my_tools.inbox, name="access-requests"),
    path("access/requests/<int:pk>/", my_tools.answer, name="access-request"),
    path("access/find/targets/", groups.suggest_targets, name="access-targets"),
    path("access/find/capabilities/", groups.suggest_capabilities, name="access-capabilities"),
    path("insights/", overview.figures, name="insights"),
    path("insights/outcomes/", overview.outcomes, name="insights-outcomes"),
    path("insights/tools/", overview.tools, name="insights-tools"),
    path("insights/use/", use.use, name="insights-use"),
    path("insights/quotas/", use.quotas, name="insights-quotas"),
    path("insights/quotas/<int:pk>/delete/", use.remove_quota, name="insights-quota-remove"),
    path("insights/prices/", use.prices, name="insights-prices"),
    path("insights/prices/<int:pk>/delete/", use.remove_price, name="insights-price-remove"),
    path("integrations/<slug:slug>/examples/", examples_page.examples, name="integration-examples"),
    path("insights/teach/", teaching.teach, name="insights-teach"),
    path("insights/csv/<slug:name>/", overview.download, name="insights-csv"),
    path("access/risk/", risk.risk, name="access-risk"),
    path("access/risk/csv/<slug:name>/", risk.download, name="access-risk-csv"),
    path("", include("acl.page_urls")),
]
