"""Clients that sign in by OAuth get exactly the person's rights, until somebody ends it."""

import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.models import ApiKey, AuditEntry, AuthorizationCode, ClientToken, RegisteredClient
from acl.oauth import client_registration
from acl.oauth.authorization_server import REUSED_WITHIN
from acl.oauth.client_registration import (
    RegistrationRefused,
    check_redirect_uri,
    is_registered,
    origin_to_allow,
)
from acl.people.people import deactivate, reactivate
from discovery.metatools import META_TOOLS
from tests.access.people import People
from tests.examples import EXAMPLES_OF_TEXTS
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give
from tests.mcp.asking import ask, call
from tests.mcp.sdk_client import _settings_of_sign_in as _settings_of_sign_in
from tests.mcp.signing_in import (
    HOST,
    REDIRECT,
    VERIFIER,
    Tokens,
    browser,
    client_of,
    consent,
    exchange,
    refresh,
    register,
    request_of,
    sent_back,
    sign_in,
)


@pytest.fixture
def tokens(people: People) -> Tokens:
    return sign_in(people.alice)


def works(token: str, path: str = "/mcp") -> bool:
    return bool(ask(token, "tools/list", path=path).status_code == 200)


def refused(answered: Any) -> tuple[int, str]:
    return answered.status_code, answered.json()["error"]


# -- the way in


def test_a_stranger_is_told_where_to_sign_in(people: People) -> None:
    answered = ask("", "tools/list", path="/mcp/gmail")

    challenge = answered["WWW-Authenticate"]
    assert answered.status_code == 401
    address = f"{HOST}/.well-known/oauth-protected-resource/mcp/gmail"
    assert f'resource_metadata="{address}"' in challenge
    assert 'scope="discover execute"' in challenge
    document = Client().get(address.removeprefix(HOST)).json()
    assert document["resource"] == f"{HOST}/mcp/gmail"
    assert document["authorization_servers"] == [HOST]


def test_metadata_names_what_the_server_does(db: None) -> None:
    from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

    document = Client().get("/.well-known/oauth-authorization-server", secure=True).json()

    AuthorizationServerMetadata(document).validate()
    assert document["issuer"] == "https://testserver"
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["token_endpoint_auth_methods_supported"] == ["none"]


@pytest.mark.parametrize("path", ["tools", "mcpx", "api/v1/select"])
def test_only_mcp_addresses_are_resources(db: None, path: str) -> None:
    assert Client().get(f"/.well-known/oauth-protected-resource/{path}").status_code == 404


def test_connected_client_is_the_person(people: People, tokens: Tokens) -> None:
    listed = call(tokens.access, "tool_discovery__list_all")["structuredContent"]

    names = {tool["name"] for tool in listed["tools"]}
    assert "gmail__send_email" in names
    assert "payroll__pay" not in names
    entry = AuditEntry.objects.get(action="client.connected")
    assert (entry.by, entry.details["redirect_host"]) == (people.alice, "127.0.0.1")


def test_consent_names_client_host_and_what_it_may(people: People) -> None:
    page = browser(people.alice).get("/oauth/authorize", request_of(client_of()))

    text = page.content.decode()
    assert "Claude" in text
    assert "127.0.0.1" in text
    assert "run them as you" in text
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "form-action 'self' http://127.0.0.1:4000" in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]


def test_whoever_is_not_signed_in_comes_back_after_it(people: People) -> None:
    answered = Client().get("/oauth/authorize", request_of(client_of()))

    assert answered.status_code == 302
    assert answered["Location"].startswith("/sign-in/?next=/oauth/authorize%3F")


def test_no_is_told_to_the_client(people: People) -> None:
    told = sent_back(consent(people.alice, client_of(), decision="deny"))

    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "s1", HOST)
    assert not AuthorizationCode.objects.exists()


def test_consent_needs_a_form_of_ours(people: People) -> None:
    client = browser(people.alice, enforce_csrf_checks=True)

    answered = client.post("/oauth/authorize", {**request_of(client_of()), "decision": "allow"})

    assert answered.status_code == 403
    assert not AuthorizationCode.objects.exists()


def test_looking_at_the_page_agrees_to_nothing(people: People) -> None:
    browser(people.alice).get("/oauth/authorize", {**request_of(client_of()), "decision": "allow"})

    assert not AuthorizationCode.objects.exists()


# -- codes


def test_code_without_its_verifier_is_worth_nothing(people: People) -> None:
    client_id = client_of()
    code = sent_back(consent(people.alice, client_id))["code"]

    assert refused(exchange(client_id, code, code_verifier="x" * 43)) == (400, "invalid_grant")
    assert refused(exchange(client_id, code)) == (400, "invalid_grant")  # it is used up
    assert not ClientToken.objects.exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge_method": None},
        {"code_challenge": VERIFIER, "code_challenge_method": "plain"},
    ],
)
def test_proof_by_s256_is_required(people: People, changed: dict[str, Any]) -> None:
    told = sent_back(consent(people.alice, client_of(), **changed))

    assert told["error"] == "invalid_request"


def test_replayed_code_ends_the_connection(people: People) -> None:
    client_id = client_of()
    code = sent_back(consent(people.alice, client_id))["code"]
    token = exchange(client_id, code).json()["access_token"]
    assert works(token)

    assert refused(exchange(client_id, code)) == (400, "invalid_grant")

    assert not works(token)
    entry = AuditEntry.objects.get(action="client.disconnected")
    assert entry.details["reason"] == "code used twice"


def test_code_of_another_client_redirect_or_time_is_refused(people: People) -> None:
    mine, other = client_of(), client_of()
    code = sent_back(consent(people.alice, mine))["code"]

    assert refused(exchange(other, code)) == (400, "invalid_grant")
    assert refused(exchange(mine, code, redirect_uri=REDIRECT + "x")) == (400, "invalid_grant")
    other_resource = exchange(mine, code, resource=f"{HOST}/mcp/wiki")
    assert refused(other_resource) == (400, "invalid_target")
    AuthorizationCode.objects.update(expires_at=Now() - timedelta(minutes=30))
    assert refused(exchange(mine, code)) == (400, "invalid_grant")


# -- redirects


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.com/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "cursor://anysphere/cb",
        "https://user@example.com/cb",
        "https://example.com/cb#part",
        "https://*.example.com/cb",
        "https://exämple.com/cb",
        "https://example.com\\@evil.example/cb",
        "http://127.0.0.1@evil.example/cb",
        "http://localhost.evil.example/cb",
        "https:///cb",
        "https://example.com:0/cb",
        "https://example.com/" + "x" * 500,
        "",
    ],
)
def test_unsafe_redirects_are_not_registered(db: None, uri: str) -> None:
    assert refused(register([uri])) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/cb",
        "http://127.0.0.1:4000/callback/../x",
        "http://127.0.0.1.evil.example:4000/callback",
        "http://evil.example@127.0.0.1:4000/callback",
        "http://localhost:4000/callback",
        'http://127.0.0.1:4000/callback"',
        "//evil.example",
        "",
    ],
)
def test_nobody_is_sent_to_an_unregistered_address(people: People, uri: str) -> None:
    page = browser(people.alice).get("/oauth/authorize", request_of(client_of(), redirect_uri=uri))

    assert page.status_code == 400
    assert "Location" not in page


def test_another_port_of_ones_own_machine_is_the_same_client(people: People) -> None:
    uri = "http://127.0.0.1:61234/callback"

    answered = consent(people.alice, client_of(), redirect_uri=uri)

    assert answered["Location"].startswith(uri + "?code=")


def test_unknown_client_is_explained_to_the_person_only(people: People) -> None:
    page = browser(people.alice).get("/oauth/authorize", request_of("nobody"))

    assert page.status_code == 400
    assert b"cannot be connected" in page.content


# -- tokens


def test_token_is_for_one_address(people: People) -> None:
    hub = IntegrationFactory.create(slug="hub", transport="http")
    give(hub, people.support)
    CapabilityFactory.create(integration=hub, action="merge")
    token = sign_in(people.alice, resource=f"{HOST}/mcp/hub").access

    assert works(token, "/mcp/hub")
    assert not works(token, "/mcp")
    assert not works(token, "/mcp/space/root")
    own = {"Authorization": f"Bearer {token}"}
    assert Client(headers=own).get("/api/v1/categories").status_code == 401


@pytest.mark.parametrize(
    "resource",
    ["https://evil.example/mcp", f"{HOST}/api/v1", f"{HOST}/mcpx", f"{HOST}/mcp#x", "http://[",
     [f"{HOST}/mcp", f"{HOST}/mcp/hub"]],
)  # fmt: skip
def test_other_resources_are_refused(people: People, resource: Any) -> None:
    told = sent_back(consent(people.alice, client_of(), resource=resource))

    assert told["error"] == "invalid_target"
    assert "code" not in told


def test_refresh_rotates_and_a_used_one_ends_all(people: People, tokens: Tokens) -> None:
    renewed = refresh(tokens).json()
    assert works(renewed["access_token"])
    assert renewed["refresh_token"] != tokens.refresh
    ClientToken.objects.exclude(used_at=None).update(used_at=F("used_at") - 2 * REUSED_WITHIN)

    assert refused(refresh(tokens)) == (400, "invalid_grant")

    assert not works(renewed["access_token"])
    later = Tokens(tokens.client_id, "", renewed["refresh_token"])
    assert refused(refresh(later)) == (400, "invalid_grant")


@pytest.mark.parametrize("seed", range(8))
def test_refresh_that_comes_again_within_a_moment_ends_nothing(
    people: People, tokens: Tokens, seed: int
) -> None:
    """Two tabs refresh at once, or an answer is lost: each random one of them goes on."""
    chance, held = Random(seed), [tokens]
    for _ in range(6):
        using = chance.choice(held)
        renewed = refresh(using).json()
        assert works(renewed["access_token"])
        held = [using, Tokens(tokens.client_id, "", renewed["refresh_token"])]

    ClientToken.objects.exclude(used_at=None).update(used_at=F("used_at") - 2 * REUSED_WITHIN)
    assert refused(refresh(tokens)) == (400, "invalid_grant")
    assert not works(renewed["access_token"])


def test_tokens_are_stored_as_digests(people: People, tokens: Tokens) -> None:
    stored = str(list(ClientToken.objects.values()) + list(ApiKey.objects.values()))

    assert tokens.access not in stored
    assert tokens.refresh not in stored


@pytest.mark.parametrize("what", ["access", "refresh"])
def test_revoking_either_token_ends_the_connection(tokens: Tokens, what: str) -> None:
    sent = {"token": getattr(tokens, what), "client_id": tokens.client_id}

    assert Client().post("/oauth/revoke", sent).status_code == 200

    assert not works(tokens.access)
    assert refused(refresh(tokens)) == (400, "invalid_grant")


def test_another_client_can_neither_refresh_nor_revoke(tokens: Tokens) -> None:
    thief = Tokens(client_of(), "", tokens.refresh)

    assert refused(refresh(thief)) == (400, "invalid_grant")
    Client().post("/oauth/revoke", {"token": tokens.access, "client_id": thief.client_id})

    assert works(tokens.access)


def test_expired_token_is_refused_and_renewed(tokens: Tokens) -> None:
    ClientToken.objects.filter(kind="access").update(expires_at=Now() - timedelta(minutes=30))

    answered = ask(tokens.access, "tools/list")

    assert answered.status_code == 401
    assert 'error="invalid_token"' in answered["WWW-Authenticate"]
    assert works(refresh(tokens).json()["access_token"])


def test_deactivated_persons_client_stops_and_stays_so(people: People, tokens: Tokens) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)

    deactivate(by=root, person=people.alice)
    assert not works(tokens.access)
    assert refused(refresh(tokens)) == (400, "invalid_grant")

    reactivate(by=root, person=people.alice)
    assert not works(tokens.access)


def test_lost_right_is_gone_from_the_next_call(people: People, tokens: Tokens) -> None:
    people.alice.groups.clear()

    assert not works(tokens.access)


def test_operator_can_turn_it_off(tokens: Tokens, settings: Settings) -> None:
    settings.PEGBOARD_OAUTH = False

    answered = ask(tokens.access, "tools/list")
    assert answered.status_code == 401
    assert "resource_metadata" not in answered["WWW-Authenticate"]
    for path in ("oauth-authorization-server", "oauth-protected-resource"):
        assert Client().get(f"/.well-known/{path}").status_code == 404
    assert register().status_code == 404


# -- scopes


@pytest.mark.parametrize("scope", ["admin", "discover admin", "select", "openid"])
def test_client_cannot_ask_for_more_than_an_assistants_scopes(people: People, scope: str) -> None:
    told = sent_back(consent(people.alice, client_of(), scope=scope))

    assert told["error"] == "invalid_scope"


def test_call_beyond_the_scope_asks_for_more(people: People) -> None:
    token = sign_in(people.alice, scope="discover").access
    listed = ask(token, "tools/list").json()["result"]["tools"]

    answered = ask(token, "tools/call", {"name": "execute_tool", "arguments": {}})

    assert "execute_tool" not in [tool["name"] for tool in listed]
    assert answered.status_code == 403
    challenge = answered["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="discover execute"' in challenge


def test_refresh_cannot_widen_the_scope(people: People) -> None:
    tokens = sign_in(people.alice, scope="discover")

    assert refused(refresh(tokens, scope="discover execute")) == (400, "invalid_scope")
    assert refresh(tokens).json()["scope"] == "discover"


# -- registration


def test_flood_of_registrations_ends(
    people: People, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_RATE_REGISTRATIONS = 3
    answers = [register(address="192.0.2.77").status_code for _ in range(5)]
    assert answers == [201] * 3 + [429] * 2

    monkeypatch.setattr(client_registration, "MOST_UNCONNECTED", 3)
    with pytest.raises(client_registration.RegistrationRefused):
        client_registration.register_client(name="x", redirect_uris=[REDIRECT])
    RegisteredClient.objects.update(created_at=Now() - timedelta(days=2))
    client_registration.register_client(name="x", redirect_uris=[REDIRECT])
    assert RegisteredClient.objects.count() == 1


@pytest.mark.parametrize("body", ["[]", "{", "1", '{"redirect_uris": "x"}', '{"client_name": 1}'])
def test_odd_registrations_are_refused(db: None, body: str) -> None:
    answered = Client().post("/oauth/register", body, content_type="application/json")

    assert answered.status_code == 400


def test_name_that_imitates_another_is_not_registered(db: None) -> None:
    assert refused(register(name="Cl\u0430ude")) == (400, "invalid_client_metadata")


# -- the page


def test_person_sees_and_ends_only_their_own(people: People, tokens: Tokens) -> None:
    [mine] = browser(people.alice).get("/account/assistants/").context["connections"]
    foreign = browser(people.bob)
    assert not foreign.get("/account/assistants/").context["connections"]
    path, sent = "/account/assistants/", {"connection": mine.pk}

    assert foreign.post(path, sent).status_code == 404
    assert works(tokens.access)
    assert browser(people.alice).post(path, sent).status_code == 302

    assert not works(tokens.access)


def test_admin_sees_all_but_no_key_page_has_them(people: People, tokens: Tokens) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    client = browser(root)

    assert len(client.get("/account/assistants/").context["connections"]) == 1
    assert "Claude" not in client.get("/keys/").content.decode()
    key = ApiKey.objects.get(name="Claude")
    assert client.post(f"/keys/{key.pk}/replace/", {}).status_code == 404
    assert client.get(f"/keys/{key.pk}/revoke/").status_code == 404


def test_keys_go_on_working(people: People, key: str, tokens: Tokens) -> None:
    assert works(key)
    assert set(META_TOOLS) <= {
        tool["name"] for tool in ask(key, "tools/list").json()["result"]["tools"]
    }


def test_token_costs_as_many_statements_as_a_key(people: People, key: str, tokens: Tokens) -> None:
    def count(raw: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            ask(raw, "tools/list")
        return len(asked)

    for raw in (key, tokens.access):  # fills the caches, and notes the use of a minute
        count(raw)

    assert count(tokens.access) == count(key)


ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
HOSTILE = (
    *("evil.example;script-src *", "evil.example;script-src%20*", "a.example,default-src"),
    *("evil.example;", "*.example", "a.example:", "a.example:99999", "a.example:443;x", ""),
    *("a.example'self'", "a..example", ".example", "a b", "a@b.example", "[::1;]", "[::1].x"),
    *("a.example\n", "\u212a.example", "localhost;x", "127.0.0.1;x", "a.example&x", "a.example=x"),
)


@settings(max_examples=EXAMPLES_OF_TEXTS * 4)
@given(
    scheme=st.sampled_from(["https", "http"]),
    host=st.sampled_from(HOSTILE) | st.text("ab.-_:;,'*[]%&=+$!()~@0189\u00e9", max_size=14),
)
def test_what_is_accepted_is_one_origin_of_a_policy(scheme: str, host: str) -> None:
    uri = f"{scheme}://{host}/back"
    try:
        check_redirect_uri(uri)
    except RegistrationRefused:
        return

    assert ORIGIN.fullmatch(origin_to_allow(uri))


@pytest.mark.parametrize("host", HOSTILE)
def test_client_of_an_earlier_release_is_not_sent_there(host: str) -> None:
    client = RegisteredClient(redirect_uris=[f"https://{host}/back"])

    assert not is_registered(client, f"https://{host}/back")


def test_page_of_such_a_client_has_no_other_policy(people: People) -> None:
    client = client_of()
    odd = "https://evil.example;script-src/back"
    RegisteredClient.objects.filter(client_id=client).update(redirect_uris=[odd])

    asked = {**request_of(client), "redirect_uri": odd}
    page = browser(people.alice).get("/oauth/authorize", asked)

    assert page.status_code == 400
    assert "evil.example" not in page["Content-Security-Policy"]
