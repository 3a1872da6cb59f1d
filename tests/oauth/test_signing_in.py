"""Sign-in at a server, end to end by pages and tasks, with all its failures."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from catalog.models import Integration, OAuthClient, OAuthConnection, OAuthSignIn, Secret
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import call_tool, check_server
from catalog.servers.oauth import tokens
from catalog.servers.oauth.accounts import MAX_CONCURRENT
from catalog.servers.oauth.authorization_client import SignInError
from catalog.servers.oauth.sign_in import finish_sign_in, renew_tokens, sweep_sign_ins
from catalog.servers.oauth.tokens import get_bearer_token
from discovery.models import Call
from tests.calls.worker import run_call
from tests.examples import some_of
from tests.factories import IntegrationFactory, UserFactory
from tests.oauth.server import SignInServer, sign_in_server
from tests.oauth.steps import begin, everything_stored, go_there, later, sign_in
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


def told(mail: Integration, user: User | None = None) -> str:
    """Return the token of the server's call."""
    answer = call_tool(mail, "whoami", {}, user_id=user.pk if user else None)
    return str(json.loads(answer.content[0]["text"])["token"])


def test_admin_signs_in_for_everyone_and_a_person_for_themselves(
    mail: Integration, server: SignInServer, root: User, support: Group
) -> None:
    alice, bob = (UserFactory.create(username=name, groups=[support]) for name in ("alice", "bob"))
    before = sign_in(session_of(root))
    own = sign_in(session_of(alice), "/tools/connections/mail/sign-in/")

    tokens = [
        get_bearer_token(mail),
        get_bearer_token(mail, user_id=bob.pk),
        get_bearer_token(mail, user_id=alice.pk),
    ]

    assert (before.state, own.state) == ("done", "done")
    assert tokens[0] == tokens[1] != tokens[2]
    assert set(tokens) == server.good
    assert told(mail) == told(mail, alice) == "[hidden]"  # echoed tokens are redacted
    called = [
        headers["Authorization"]
        for path, headers, _ in server.sent
        if path == "/mcp" and "Authorization" in headers
    ]
    assert set(called) == {f"Bearer {tokens[0]}", f"Bearer {tokens[2]}"}
    registered = [body for path, _, body in server.sent if path == "/register"]
    assert len(registered) == 1
    asked = parse_qs(urlsplit(next(path for path in server.asked if "/authorize" in path)).query)
    assert asked["resource"] == [f"{server.origin}/mcp"]
    assert asked["scope"] == ["mail.read"]
    page = session_of(root).get("/integrations/mail/").content.decode()
    assert f"Signed in at {server.origin}" in page
    shown = page + session_of(alice).get("/tools/connections/mail/").content.decode()
    assert "canary" not in shown + everything_stored()
    actions = AuditEntry.objects.filter(action__startswith="account").values_list(
        "action", flat=True
    )
    assert sorted(actions) == ["account.connect"] * 2 + ["account.sign_in"] * 2
    assert not OAuthSignIn.objects.exclude(sealed_verifier=b"").exists()


def test_way_back_is_for_the_browser_that_began(
    mail: Integration, server: SignInServer, root: User, support: Group
) -> None:
    mallory = UserFactory.create(username="mallory", groups=[support], is_staff=True)
    victim, other = session_of(root), session_of(mallory)
    row = begin(victim)
    back = go_there(victim, row)

    strangers = [
        other.get(back).status_code,  # someone else's session
        session_of(root).get(back).status_code,  # the same person in another browser
        other.get(f"/connections/{row.public_id}/").status_code,
        victim.get("/connections/callback/?code=x&state=guessed").status_code,
        victim.get("/connections/callback/").status_code,
    ]
    row.refresh_from_db()
    waits = row.state
    victim.get(back)
    again = victim.get(back).status_code

    assert strangers == [404] * 5
    assert waits == "waiting"
    assert again == 404  # a state is single-use
    row.refresh_from_db()
    assert (row.state, bool(row.sealed_code)) == ("finishing", True)


def test_code_is_used_once_whoever_delivers_the_task(
    mail: Integration, server: SignInServer, root: User
) -> None:
    row = sign_in(session_of(root))
    finish_sign_in(row.pk)

    assert len([path for path, _, _ in server.sent if path == "/token"]) == 1


def test_late_and_refused_sign_ins_end_in_words(mail: Integration, root: User) -> None:
    client = session_of(root)
    refused = begin(client)
    state = parse_qs(go_there(client, refused).partition("?")[2])["state"][0]
    client.get(f"/connections/callback/?error=access_denied&state={state}")
    late = begin(client)
    back = go_there(client, late)
    OAuthSignIn.objects.filter(pk=late.pk).update(created_at=timezone.now() - timedelta(hours=1))
    client.get(back)

    pages = [
        client.get(f"/connections/{row.public_id}/").content.decode() for row in (refused, late)
    ]

    assert "Sign-in failed" in pages[0]
    assert "expired or was started" in pages[1]
    assert not OAuthConnection.objects.exists()


@pytest.mark.parametrize(
    ("metadata", "resource", "words"),
    [
        ({"issuer": "http://127.0.0.1:1"}, {}, "does not match the expected issuer"),
        ({"code_challenge_methods_supported": ["plain"]}, {}, "PKCE"),
        ({"code_challenge_methods_supported": None}, {}, "PKCE"),
        ({"registration_endpoint": None}, {}, "set the client ID"),
        ({"authorization_endpoint": "javascript:alert(1)"}, {}, "does not offer a sign-in"),
        ({"authorization_endpoint": "data:text/html,x"}, {}, "does not offer a sign-in"),
        ({"authorization_endpoint": "file:///etc/passwd"}, {}, "does not offer a sign-in"),
        ({}, {"resource": "https://other.example/mcp"}, "another address"),
    ],
)
def test_what_is_not_safe_is_not_gone_on_with(
    mail: Integration,
    server: SignInServer,
    root: User,
    metadata: dict[str, Any],
    resource: dict[str, Any],
    words: str,
) -> None:
    server.instead, server.resource_instead = metadata, resource

    row = begin(session_of(root))

    assert (row.state, row.authorization_url) == ("failed", "")
    assert words in row.message
    assert not [path for path in server.asked if path == "/token"]


@pytest.mark.parametrize("issuer", ["https://evil.example", "http://127.0.0.1:1"])
def test_code_of_another_issuer_is_not_sent_anywhere(
    mail: Integration, server: SignInServer, root: User, issuer: str
) -> None:
    server.issues = issuer

    row = sign_in(session_of(root))

    assert "does not match the expected issuer" in row.message
    assert "/token" not in server.asked


def test_token_of_one_server_never_reaches_another(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
    with sign_in_server() as other:
        elsewhere = IntegrationFactory.create(transport="http", endpoint=f"{other.origin}/mcp")
        with pytest.raises(ServerProblemError):
            call_tool(elsewhere, "whoami", {})
        Integration.objects.filter(pk=mail.pk).update(endpoint=f"{other.origin}/mcp")
        mail.refresh_from_db()
        with pytest.raises(ServerProblemError) as problem:
            call_tool(mail, "whoami", {})

        assert "address has changed" in problem.value.detail
        assert [headers for _, headers, _ in other.sent if "Authorization" in headers] == []


def test_client_set_by_hand_proves_itself_to_its_own_issuer_only(
    mail: Integration, server: SignInServer, root: User
) -> None:
    client, secret = session_of(root), "canary-client-secret"
    server.know("pegboard-1", secret)
    server.instead = {"registration_endpoint": None}
    client.post("/integrations/mail/client/", {"client_id": "pegboard-1", "client_secret": secret})
    first = sign_in(client)

    with sign_in_server() as other:
        server.resource_instead = {"authorization_servers": [other.origin]}
        second = begin(client)

        assert (first.state, second.state) == ("done", "failed")
        assert "another authorization server" in second.message
        assert secret not in repr(other.sent) + everything_stored()
        assert secret not in client.get("/integrations/mail/").content.decode()


def test_registered_secret_is_kept_sealed_and_used(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.registers_secret = "canary-registered"

    row = sign_in(session_of(root))

    assert row.state == "done"
    assert OAuthClient.objects.get().auth_method == "client_secret_basic"
    assert "canary" not in everything_stored()


def test_lost_message_is_made_up_for(mail: Integration, root: User) -> None:
    browser = session_of(root)
    assert browser.post("/integrations/mail/sign-in/").status_code == 302  # no worker runs
    row = OAuthSignIn.objects.get()

    sweep_sign_ins()
    row.refresh_from_db()
    assert row.state == "preparing"  # its message may still arrive

    later(row)
    sweep_sign_ins()
    row.refresh_from_db()
    assert row.state == "waiting"

    browser.get(go_there(browser, row))  # no worker runs
    sweep_sign_ins()
    sweep_sign_ins()
    finish_sign_in(row.pk)  # the message arrives late

    row.refresh_from_db()
    assert row.state == "done"
    assert OAuthConnection.objects.count() == 1


def test_sign_in_that_was_left_is_not_gone_on_with(
    mail: Integration, server: SignInServer, root: User
) -> None:
    session_of(root).post("/integrations/mail/sign-in/")
    later(OAuthSignIn.objects.get(), timedelta(minutes=11))

    sweep_sign_ins()

    assert OAuthSignIn.objects.get().state == "preparing"
    assert server.asked == []


def test_token_is_renewed_before_it_ends_and_an_ended_one_is_told(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.expires_in = 200
    sign_in(session_of(root))
    first = get_bearer_token(mail)
    renew_tokens()  # it expires within five minutes
    second = get_bearer_token(mail)
    OAuthConnection.objects.update(expires_at=timezone.now())
    third = get_bearer_token(mail)
    server._refresh.clear()
    OAuthConnection.objects.update(expires_at=timezone.now())
    with pytest.raises(ServerProblemError) as problem:
        call_tool(mail, "whoami", {})

    assert len({first, second, third}) == 3
    assert problem.value.detail == "The account is no longer connected. Sign in again."
    account = OAuthConnection.objects.get()
    assert (
        account.problem == "The authorization server refused the sign-in. It said: invalid_grant."
    )
    assert "canary" not in account.problem


PASSING = [
    (status, body, kind)
    for status in (200, 302, 400, 401, 403, 404, 429, 500, 502, 503, 504)
    for body, kind in [
        (b"", "text/plain"),
        (b"<html>Bad gateway: invalid_grant</html>", "text/html"),
        (b'{"error": "temporarily_unavailable"}', "application/json"),
        (b'{"error": "server_error"}', "application/json"),
        (b'{"error": {"code": "invalid_grant"}}', "application/json"),
        (b"[]", "application/json"),
    ]
]


@pytest.mark.parametrize("failure", some_of(PASSING, "token endpoints", 12))
def test_passing_failure_of_a_token_endpoint_ends_no_account(
    mail: Integration,
    server: SignInServer,
    root: User,
    failure: tuple[int, bytes, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "_pauses", {})
    sign_in(session_of(root))
    OAuthConnection.objects.update(expires_at=timezone.now() - timedelta(minutes=5))
    server.fails = failure
    server.sent.clear()

    for _ in range(3):
        with pytest.raises(ServerProblemError) as problem:
            call_tool(mail, "whoami", {})
        assert problem.value.reason is Reason.TOKEN_UNAVAILABLE
    asked = len(server.sent)
    server.fails = None
    monkeypatch.setattr(tokens, "_pauses", {})  # the pause is over

    assert asked == 1  # calls within the pause do not ask again
    assert told(mail) == "[hidden]"
    mail.refresh_from_db()
    assert (mail.problem, OAuthConnection.objects.get().problem) == ("", "")


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client", "unauthorized_client"])
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_refusal_that_means_it_ends_the_account(
    mail: Integration, server: SignInServer, root: User, code: str, status: int
) -> None:
    sign_in(session_of(root))
    OAuthConnection.objects.update(expires_at=timezone.now())
    server.fails = (status, json.dumps({"error": code}).encode(), "application/json")

    with pytest.raises(ServerProblemError) as problem:
        call_tool(mail, "whoami", {})

    assert problem.value.reason is Reason.SIGN_IN_NEEDED
    assert code in OAuthConnection.objects.get().problem


def test_refused_token_is_renewed_at_the_next_call(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
    server.good.clear()  # revoked at the server
    OAuthConnection.objects.update(refreshed_at=timezone.now() - timedelta(hours=1))
    with pytest.raises(ServerProblemError):
        call_tool(mail, "whoami", {})

    assert told(mail) == "[hidden]"


@pytest.mark.django_db(transaction=True)
def test_many_at_once_renew_a_token_once(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
    OAuthConnection.objects.update(expires_at=timezone.now())
    server.sent.clear()
    server.waits = 0.1
    got: list[str | None] = []

    def ask() -> None:
        got.append(get_bearer_token(mail))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(got)) == 1
    assert [path for path, _, _ in server.sent] == ["/token"]


def test_server_of_before_resource_metadata_is_asked_at_its_own_origin(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.resource_instead = {"authorization_servers": []}  # no usable document

    assert sign_in(session_of(root)).state == "done"


def test_look_without_an_account_says_nothing_where_people_have_their_own(
    mail: Integration, server: SignInServer, support: Group
) -> None:
    alice = UserFactory.create(username="alice", groups=[support])
    sign_in(session_of(alice), "/tools/connections/mail/sign-in/")

    with pytest.raises(ServerProblemError):
        check_server(mail)

    assert not mail.checks.exists()
    assert told(mail, alice) == "[hidden]"


def test_nobody_begins_without_end(mail: Integration, root: User) -> None:
    client = session_of(root)
    for _ in range(MAX_CONCURRENT + 2):
        client.post("/integrations/mail/sign-in/")

    assert OAuthSignIn.objects.count() == MAX_CONCURRENT
    assert len(client.session["sign_ins"]) == 5


def test_account_is_forgotten(mail: Integration, server: SignInServer, root: User) -> None:
    client = session_of(root)
    sign_in(client)
    client.post("/integrations/mail/sign-out/")

    assert get_bearer_token(mail) is None
    assert not Secret.objects.exists()
    with pytest.raises(ServerProblemError):
        call_tool(mail, "whoami", {})


def test_a_key_that_acts_for_a_person_uses_that_persons_account_and_no_other(
    mail: Integration, server: SignInServer, root: User, support: Group, settings: Settings
) -> None:
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0  # the test runs the calls itself
    alice, bob = (UserFactory.create(username=name, groups=[support]) for name in ("alice", "bob"))
    for person in (alice, bob):
        sign_in(session_of(person), "/tools/connections/mail/sign-in/")
    tokens = {person: get_bearer_token(mail, user_id=person.pk) for person in (alice, bob)}
    _, key = create_key(
        by=None, name="backend", group=support, scopes=["execute"], acts_for_users=True
    )
    backend = Client(headers={"Authorization": f"Bearer {key}"})
    del server.sent[:]

    for person in (alice, root):  # root is of the group and has no account there
        root.groups.add(support)
        body = {"name": "mail__whoami", "arguments": {}, "user": person.username}
        backend.post("/api/v1/execute", body, "application/json")
    for call in Call.objects.order_by("created_at"):
        run_call(call.pk)

    sent = {headers.get("Authorization") for path, headers, _ in server.sent if path == "/mcp"}
    assert f"Bearer {tokens[alice]}" in sent
    assert f"Bearer {tokens[bob]}" not in sent
    states = dict(Call.objects.values_list("user__username", "state"))
    assert states == {"alice": "completed", "root": "failed"}


def written(**more: Any) -> Callable[[dict[str, Any]], tuple[int, bytes, str]]:
    """Return a writer of tokens in JSON, with other values for some fields; None for none."""

    def write(token: dict[str, Any]) -> tuple[int, bytes, str]:
        fields = {name: value for name, value in {**token, **more}.items() if value is not None}
        return more.pop("status", 200), json.dumps(fields).encode(), "application/json"

    return write


def as_form(token: dict[str, Any]) -> tuple[int, bytes, str]:
    return 200, urlencode(token).encode(), "application/x-www-form-urlencoded; charset=utf-8"


# How token endpoints write what they issue, and whether the token has an end.
TOKENS: dict[str, tuple[Callable[[dict[str, Any]], tuple[int, bytes, str]], bool]] = {
    "form": (as_form, True),
    "created": (lambda token: (201, json.dumps(token).encode(), "application/json"), True),
    "as text": (lambda token: (200, json.dumps(token).encode(), "text/plain"), True),
    "seconds as a text": (written(expires_in="3600"), True),
    "seconds with a fraction": (written(expires_in=3599.6), True),
    "no end": (written(expires_in=None), False),
    "end that is no number": (written(expires_in=""), False),
    "end at zero": (written(expires_in=0), False),
    "another kind of token": (written(token_type="JWT"), True),
    "no kind": (written(token_type=None), True),
    "scopes as a list": (written(scope=["mail.read", "mail.send"]), True),
    "scopes of null": (written(scope="", id_token="x", user={"a": 1}), True),
}


@pytest.mark.parametrize(("write", "ends"), TOKENS.values(), ids=TOKENS)
def test_token_is_read_however_it_is_written(
    mail: Integration, server: SignInServer, root: User, write: Any, ends: bool
) -> None:
    server.writes = write

    row = sign_in(session_of(root))

    assert row.state == "done"
    assert get_bearer_token(mail) in server.good
    account = OAuthConnection.objects.get()
    assert (account.expires_at is not None) is ends
    assert account.can_refresh


def test_renewal_without_a_new_refresh_token_keeps_the_old_one(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
    server.writes = written(refresh_token=None)
    OAuthConnection.objects.update(expires_at=timezone.now())

    assert get_bearer_token(mail) in server.good
    assert OAuthConnection.objects.get().can_refresh


def test_refusal_with_status_200_ends_an_account_as_another_does(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
    server.fails = (200, b'{"error": "invalid_grant"}', "application/json")
    OAuthConnection.objects.update(expires_at=timezone.now())

    with pytest.raises(SignInError, match="again"):
        get_bearer_token(mail)

    assert OAuthConnection.objects.get().problem


@pytest.mark.parametrize(
    "instead",
    [
        {"scopes_supported": "mail.read mail.send"},
        {"scopes_supported": None, "service_documentation": ""},
        {"jwks_uri": "", "op_policy_uri": "none", "response_types_supported": "code"},
        {"grant_types_supported": {"a": 1}, "ui_locales_supported": "de"},
    ],
)
@pytest.mark.parametrize("slash", ["", "/"])
def test_metadata_may_be_wrong_where_nothing_depends_on_it(
    mail: Integration, server: SignInServer, root: User, instead: dict[str, Any], slash: str
) -> None:
    issuer = f"{server.origin}{slash}"
    server.instead, server.issues = {**instead, "issuer": issuer}, issuer
    server.resource_instead = {"scopes_supported": "mail.read", "resource_documentation": ""}

    assert sign_in(session_of(root)).state == "done"
