"""URLs of the pages."""

from django.urls import include, path

from acl.pages import design_page, session_pages
from catalog.runtime import runtime_pages
from catalog.servers.pages import my_secrets, sign_in_pages
from discovery.pages import (
    approval_pages,
    call_pages,
    call_policy_pages,
    chat_model_pages,
    chat_pages,
    connect_page,
    first_steps_page,
    my_tools_pages,
    playground_page,
    try_pages,
)

urlpatterns = [
    path("", playground_page.playground, name="playground"),
    path("first-steps/", first_steps_page.first_run, name="first-run"),
    path("playground/people/", playground_page.people, name="people"),
    path("playground/chat/", chat_pages.chats, name="chats"),
    path("playground/chat/<uuid:pk>/", chat_pages.chat, name="chat"),
    path("playground/chat/<uuid:pk>/go-on/", chat_pages.chat_go_on, name="chat-go-on"),
    path("playground/chat/<uuid:pk>/cancel/", chat_pages.chat_cancel, name="chat-cancel"),
    path("playground/chat/<uuid:pk>/delete/", chat_pages.chat_delete, name="chat-delete"),
    path("playground/models/", chat_model_pages.chat_models, name="chat-models"),
    path(
        "playground/models/<int:pk>/delete/",
        chat_model_pages.remove_chat_model,
        name="chat-model-remove",
    ),
    path("tools/", my_tools_pages.my_tools, name="my-tools"),
    path("tools/connect/", connect_page.connect, name="connect"),
    path("tools/requests/", my_tools_pages.requests, name="requests"),
    path("tools/connections/", my_secrets.my_secrets, name="my-secrets"),
    path("tools/connections/<slug:slug>/", my_secrets.my_secret, name="my-secret"),
    path("tools/connections/<slug:slug>/sign-in/", sign_in_pages.sign_in, name="my-sign-in"),
    path("tools/connections/<slug:slug>/sign-out/", sign_in_pages.sign_out, name="my-sign-out"),
    path("connections/callback/", sign_in_pages.callback, name="account-callback"),
    path("connections/<uuid:public_id>/", sign_in_pages.progress, name="account-progress"),
    path("tools/runtime/", runtime_pages.runtime_tools, name="runtime-tools"),
    path(
        "tools/runtime/<slug:full_name>/<slug:decision>/",
        runtime_pages.decide,
        name="runtime-decide",
    ),
    path("tools/<slug:full_name>/", my_tools_pages.tool, name="tool"),
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
    path("calls/policy/", call_policy_pages.call_policies, name="call-policies"),
    path("calls/policy/<int:pk>/", call_policy_pages.set_call_policy, name="call-policy"),
    path("calls/<uuid:pk>/", call_pages.call, name="call"),
    path("design/", design_page.design, name="design"),
    path("group/", session_pages.choose_group, name="choose-group"),
    path("", include("catalog.access.pages.access_urls")),
    path("", include("acl.pages.account_urls")),
    path("", include("discovery.insights.insights_urls")),
    path("", include("acl.pages.staff_urls")),
]
