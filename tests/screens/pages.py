"""All pages for people, with a viewer each. A NEW PAGE NEEDS A LINE HERE."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Screen:
    """A page by its URL; "{group_pk}" and the like are names in `World.things`."""

    name: str
    path: str
    who: str = "root"
    status: int = 200


_NOBODY = [
    Screen("sign-in", "/sign-in/"),
    Screen("password-forgotten", "/sign-in/forgotten/"),
    Screen("password-sent", "/sign-in/forgotten/sent/"),
    Screen("password-link-too-old", "/sign-in/forgotten/1-none/"),
    Screen("password-changed", "/sign-in/forgotten/done/"),
    Screen("provider-cancelled", "/sign-in/oidc/cancelled/"),
    Screen("invitation", "/invitation/{invitation}/"),
    Screen("invitation-gone", "/invitation/none/", status=404),
    Screen("email-not-confirmed", "/account/email/none/"),
]
_ALICE = [
    Screen("today-for-users", "/today/"),
    Screen("playground", "/"),
    Screen("playground-answer", "/?message=write+an+e-mail+to+a+customer"),
    Screen("playground-small-talk", "/?message=thanks"),
    Screen("chats", "/playground/chat/"),
    Screen("chat", "/playground/chat/{chat_pk}/"),
    Screen("my-tools", "/tools/"),
    Screen("my-tools-nothing-fits", "/tools/?q=nothing+like+it"),
    Screen("tool", "/tools/gmail__send_mail/"),
    Screen("tool-long", "/tools/gmail__tool_2/"),
    Screen("tool-try", "/tools/gmail__send_mail/try/"),
    Screen("tool-try-answered", "/tools/gmail__send_mail/try/?call={answered_call_pk}"),
    Screen("skill", "/tools/polite-letters/"),
    Screen("connect", "/tools/connect/"),
    Screen("connect-cursor", "/tools/connect/?address=/mcp/gmail&client=cursor"),
    Screen("connect-n8n", "/tools/connect/?client=n8n"),
    Screen("ask-for-access", "/tools/requests/"),
    Screen("made-at-runtime-own", "/tools/runtime/"),
    Screen("own-servers", "/tools/own-servers/"),
    Screen("connections", "/tools/connections/"),
    Screen("connection", "/tools/connections/jira/"),
    Screen("connection-long", "/tools/connections/{wide}/"),
    Screen("find", "/find/?q=mail"),
    Screen("find-nothing", "/find/?q=nothing+like+it"),
    Screen("marketplace-for-users", "/marketplace/"),
    Screen("propose-anything", "/marketplace/add/"),
    Screen("listing-for-users", "/marketplace/listings/{listing}/"),
    Screen("approvals-own", "/approvals/"),
    Screen("approval-own", "/approvals/{call_pk}/"),
    Screen("calls-own", "/calls/"),
    Screen("call-own", "/calls/{answered_call_pk}/"),
    Screen("account", "/account/"),
    Screen("notifications", "/account/notifications/"),
    Screen("notification-channel", "/account/notifications/{channel_pk}/"),
    Screen("account-email", "/account/email/"),
    Screen("assistants", "/account/assistants/"),
    Screen("assistant-consent", "/oauth/authorize?{consent}"),
    Screen("assistant-reading", "/oauth/authorize?client_id={document}"),
    Screen("assistant-refused", "/oauth/authorize", status=400),
    Screen("account-password", "/account/password/"),
    Screen("help", "/help/"),
    Screen("help-found", "/help/?q=grant+a+tool"),
    Screen("help-nothing-fits", "/help/?q=zwiebelkuchen"),
    Screen("help-section", "/help/settings/"),
    Screen("not-here", "/keys/", status=404),
]
_ADMIN = [
    Screen("today", "/today/"),
    Screen("chats-for-admins", "/playground/chat/"),
    Screen("chat-models", "/playground/models/"),
    Screen("playground-as-someone", "/?message=open+a+ticket&user=alice"),
    Screen("playground-nobody", "/?message=open+a+ticket&user=nobody"),
    Screen("marketplace", "/marketplace/"),
    Screen("marketplace-found", "/marketplace/?q=time+in+other+places"),
    Screen("marketplace-nothing-fits", "/marketplace/?q=zwiebelkuchen&kind=skill"),
    Screen("listing", "/marketplace/listings/{listing}/"),
    Screen("listing-installed", "/marketplace/listings/{installed}/"),
    Screen("install", "/marketplace/listings/{listing}/install/"),
    Screen("install-api", "/marketplace/listings/library/install/"),
    Screen("add-anything", "/marketplace/add/"),
    Screen("add-together", "/marketplace/add/together/?of={added},{not_added}"),
    Screen("addition", "/marketplace/add/{added}/"),
    Screen("addition-failed", "/marketplace/add/{not_added}/"),
    Screen("installing", "/marketplace/installations/{running}/"),
    Screen("installing-failed", "/marketplace/installations/{failed}/"),
    Screen("installed", "/marketplace/installations/{done}/"),
    Screen("install-cancel", "/marketplace/installations/{running}/cancel/"),
    Screen("sources", "/marketplace/sources/"),
    Screen("source", "/marketplace/sources/{source}/"),
    Screen("source-add", "/marketplace/add-source/"),
    Screen("source-remove", "/marketplace/sources/{source}/remove/"),
    Screen("proposals", "/marketplace/proposals/"),
    Screen("made-at-runtime", "/tools/runtime/"),
    Screen("made-at-runtime-nothing-fits", "/tools/runtime/?q=nothing+like+it"),
    Screen("made-at-runtime-approve", "/tools/runtime/{made}/approve/"),
    Screen("made-at-runtime-promote", "/tools/runtime/{made_approved}/promote/"),
    Screen("made-at-runtime-retire", "/tools/runtime/{made}/retire/"),
    Screen("allowed-hosts", "/allowed-hosts/"),
    Screen("own-server-policy", "/own-servers/"),
    Screen("integrations", "/integrations/"),
    Screen("integrations-nothing-fits", "/integrations/?q=nothing+like+it"),
    Screen("integration", "/integrations/{reviewed}/"),
    Screen("integration-failing", "/integrations/{failing}/"),
    Screen("integration-long", "/integrations/{wide}/"),
    Screen("integration-update", "/integrations/github/update/"),
    Screen("integration-no-update", "/integrations/{failing}/update/"),
    Screen("integration-confirm", "/integrations/{imported}/confirm/"),
    Screen("integration-imported", "/integrations/{imported}/"),
    Screen("integration-examples", "/integrations/gmail/examples/"),
    Screen("integration-examples-none", "/integrations/github/examples/"),
    Screen("integration-review", "/integrations/{reviewed}/review/"),
    Screen("integration-nothing-to-review", "/integrations/{failing}/review/"),
    Screen("integration-repair", "/integrations/{failing}/repair/"),
    Screen("integration-uninstall", "/integrations/{failing}/uninstall/"),
    Screen("approvals", "/approvals/"),
    Screen("approvals-decided", "/approvals/?show=decided"),
    Screen("approvals-nothing", "/approvals/?q=nothing+like+it"),
    Screen("approval", "/approvals/{call_pk}/"),
    Screen("calls", "/calls/"),
    Screen("calls-nothing-fits", "/calls/?tool=nothing"),
    Screen("calls-policy", "/calls/policy/"),
    Screen("call", "/calls/{answered_call_pk}/"),
    Screen("insights", "/insights/"),
    Screen("insights-outcomes", "/insights/outcomes/"),
    Screen("insights-tools", "/insights/tools/"),
    Screen("insights-use", "/insights/use/"),
    Screen("insights-use-priced", "/insights/use/?model=gpt-4.1"),
    Screen("insights-quotas", "/insights/quotas/"),
    Screen("insights-prices", "/insights/prices/"),
    Screen("insights-teach", "/insights/teach/"),
    Screen("access", "/access/"),
    Screen("access-nothing-fits", "/access/?q=nothing+like+it"),
    Screen("access-of-a-group", "/access/?group={group_pk}"),
    Screen("access-groups", "/access/groups/"),
    Screen("access-group-new", "/access/groups/new/"),
    Screen("access-group", "/access/groups/{group_pk}/"),
    Screen("access-group-people", "/access/groups/{group_pk}/people/"),
    Screen("access-group-delete", "/access/groups/{group_pk}/delete/"),
    Screen("access-group-merge", "/access/groups/{group_pk}/merge/?into=Finance"),
    Screen("access-group-search", "/access/groups/{group_pk}/?q=mail"),
    Screen("access-give", "/access/groups/{group_pk}/give/"),
    Screen("access-space", "/access/spaces/{space_pk}/"),
    Screen("access-space-move", "/access/spaces/{space_pk}/move/?parent={root_space_pk}"),
    Screen("access-space-remove", "/access/spaces/{space_pk}/delete/"),
    Screen("access-explain-begin", "/access/explain/"),
    Screen(
        "access-explain",
        "/access/explain/?user=alice&group={group_pk}&space={space_pk}&capability={capability}",
    ),
    Screen("access-explain-nobody", "/access/explain/?user=nobody"),
    Screen("access-person", "/access/people/{user_pk}/"),
    Screen("access-tool", "/access/tools/{capability}/"),
    Screen("access-requests", "/access/requests/"),
    Screen("access-requests-answered", "/access/requests/?show=answered"),
    Screen("access-request", "/access/requests/{request_pk}/"),
    Screen("access-notifications", "/access/notifications/"),
    Screen("access-notification-channel", "/access/notifications/{group_channel_pk}/"),
    Screen("access-risk", "/access/risk/"),
    Screen("access-undo", "/access/changes/undo/", status=422),
    Screen("people", "/people/"),
    Screen("people-nobody", "/people/?q=nobody+like+that"),
    Screen("person", "/people/{user_pk}/"),
    Screen("person-deactivate", "/people/{user_pk}/deactivate/"),
    Screen("invite", "/people/invite/"),
    Screen("sign-in-groups", "/people/sign-in-groups/"),
    Screen("applications", "/applications/"),
    Screen("application-new", "/applications/new/"),
    Screen("application", "/applications/{application_pk}/"),
    Screen("application-edit", "/applications/{application_pk}/edit/"),
    Screen("application-delete", "/applications/{application_pk}/delete/"),
    Screen(
        "application-conversation", "/applications/{application_pk}/conversation/?name=ticket-4711"
    ),
    Screen("keys", "/keys/"),
    Screen("keys-nothing-fits", "/keys/?q=nothing+like+it"),
    Screen("key-new", "/keys/new/"),
    Screen("key-replace", "/keys/{key_pk}/replace/"),
    Screen("key-revoke", "/keys/{key_pk}/revoke/"),
    Screen("assistants-all", "/account/assistants/"),
    Screen("health", "/health/"),
    Screen("audit", "/audit/"),
    Screen("audit-nothing-fits", "/audit/?target=nothing+like+it"),
]
SCREENS = [
    *(Screen(one.name, one.path, "", one.status) for one in _NOBODY),
    *(Screen(one.name, one.path, "alice", one.status) for one in _ALICE),
    *_ADMIN,
]
# Pages that no URL alone opens; axe checks them where they are reached.
REACHED_ELSEWHERE = {
    "access/changes/",  # tests/pages/test_access_in_browser.py
    "account/codes/", "account/codes/lost/", "account/codes/lost/new/", "account/codes/off/",
    "account/confirm/", "account/confirm/code/", "account/connections/",
    "account/password/first/", "sign-in/code/",  # tests/people/test_in_browser.py
    # tests/integrations/test_in_browser.py
    "connections/<uuid:public_id>/", "connections/callback/",
    "design/",  # in debug mode only, but checked all the same
    # Forms of Today that answer with the page: tests/pages/test_today_in_browser.py
    "today/calls/", "today/requests/", "today/integrations/", "today/reviews/", "today/updates/",
    "today/alerts/", "today/keys/",
    # Parts of pages, and non-pages.
    "marketplace/listings/<slug:slug>/operations/",  # tests/openapi/test_in_browser.py
    # tests/chats/test_apps_in_browser.py
    "playground/chat/<uuid:pk>/apps/<uuid:call_pk>/",
    "playground/chat/<uuid:pk>/apps/<uuid:call_pk>/call/",
    "playground/people/", "marketplace/receivers/", "access/find/targets/",
    "access/find/capabilities/", "access/spaces/<int:pk>/warnings/",
    "^sign-in/(?P<provider_id>oidc)/callback/$", "tools/<slug:full_name>/why/",
    "playground/why/", "playground/callers/", "first-steps/", "icons/<uuid:public_id>.png",
}  # fmt: skip


class _Anything(dict[str, str]):
    """A mapping with a value for each name, in the form that its route takes."""

    def __missing__(self, name: str) -> str:
        calls = {"answered_call_pk", "call_pk", "chat_pk"}
        additions = {"added", "not_added"}
        if name in {*calls, *additions, "running", "failed", "done"}:
            return "00000000-0000-4000-8000-000000000001"
        return "1" if name.endswith("_pk") else "any"


ANYTHING = _Anything()
