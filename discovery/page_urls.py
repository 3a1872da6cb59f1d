"""Where the pages live."""

from django.urls import include, path

from discovery.views import (
    approvals,
    design,
    first_run,
    my_secrets,
    my_tools,
    playground,
    server_accounts,
    session,
)

urlpatterns = [
    path("", playground.playground, name="playground"),
    path("first-steps/", first_run.first_run, name="first-run"),
    path("playground/people/", playground.people, name="people"),
    path("tools/", my_tools.my_tools, name="my-tools"),
    path("tools/requests/", my_tools.requests, name="requests"),
    path("tools/connections/", my_secrets.my_secrets, name="my-secrets"),
    path("tools/connections/<slug:slug>/", my_secrets.my_secret, name="my-secret"),
    path("tools/connections/<slug:slug>/sign-in/", server_accounts.sign_in, name="my-sign-in"),
    path("tools/connections/<slug:slug>/sign-out/", server_accounts.sign_out, name="my-sign-out"),
    path("connections/callback/", server_accounts.callback, name="account-callback"),
    path("connections/<uuid:public_id>/", server_accounts.progress, name="account-progress"),
    path("tools/<slug:full_name>/", my_tools.tool, name="tool"),
    path("approvals/", approvals.approvals, name="approvals"),
    path("approvals/<uuid:pk>/", approvals.approval, name="approval"),
    path("design/", design.design, name="design"),
    path("group/", session.choose_group, name="choose-group"),
    path("", include("discovery.access_urls")),
    path("", include("discovery.account_urls")),
    path("", include("discovery.insights_urls")),
    path("", include("discovery.people_urls")),
    path("", include("discovery.register_urls")),
]
