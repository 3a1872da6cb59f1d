"""Sign-in at an API whose OpenAPI document names its authorization server."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from pytest_django.fixtures import Settings

from catalog.formats.openapi.api_security import find_sign_in, read_scopes
from catalog.formats.readers.openapi import parse_api
from catalog.models import Integration, OAuthClient, OAuthConnection
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.oauth.accounts import set_client
from catalog.servers.oauth.sign_in import renew_tokens
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give
from tests.oauth.server import METADATA, OPENID, SignInServer, sign_in_server
from tests.oauth.steps import begin, everything_stored, go_there, sign_in
from tests.sessions import session_of

pytestmark = pytest.mark.django_db
MINE = "/tools/connections/books/sign-in/"


def schemes(origin: str, kind: str = "authorizationCode") -> dict[str, Any]:
    flow = {"authorizationUrl": f"{origin}/authorize", "tokenUrl": f"{origin}/token"}
    if kind == "openIdConnect":
        return {"login": {"type": kind, "openIdConnectUrl": f"{origin}{OPENID}"}}
    return {"login": {"type": "oauth2", "flows": {kind: {**flow, "scopes": {}}}}}


def document(origin: str, kind: str = "authorizationCode") -> str:
    def reads(name: str, *scopes: str) -> dict[str, Any]:
        return {
            "operationId": name,
            "security": [{"login": list(scopes)}],
            "responses": {"200": {"description": ""}},
        }

    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Books", "version": "1"},
            "servers": [{"url": origin}],
            "components": {"securitySchemes": schemes(origin, kind)},
            "paths": {
                "/books": {"get": reads("list_books", "books.read", "books.list")},
                "/all": {"delete": reads("delete_all", "books.destroy")},
            },
        }
    )


def install(origin: str, support: Group, kind: str = "authorizationCode") -> Integration:
    """Install one of the two operations, as an admin's choice does."""
    api = parse_api(document(origin, kind), file="books.json")
    described, tool = api.integration, api.operations[0].tool
    row: Integration = IntegrationFactory.create(
        slug="books", kind="openapi", transport="openapi", endpoint=described.endpoint,
        source_ref=described.source_ref, required_secrets=list(described.required_secrets),
        own_secrets=True,
    )  # fmt: skip
    give(row, support)
    CapabilityFactory.create(
        integration=row, action="list_books", annotations=tool["annotations"],
        input_schema=tool["inputSchema"],
    )  # fmt: skip
    return row


@pytest.fixture
def api(server: SignInServer) -> SignInServer:
    server.is_api = True
    server.know("pegboard", "secret-canary")
    return server


@pytest.mark.parametrize("kind", ["authorizationCode", "openIdConnect"])
def test_each_person_signs_in_for_the_scopes_of_the_installed_operations(
    api: SignInServer, root: User, support: Group, kind: str
) -> None:
    books = install(api.origin, support, kind)
    alice, bob = (UserFactory.create(username=name, groups=[support]) for name in ("alice", "bob"))
    with pytest.raises(ServerProblemError) as before:
        call_tool(books, "list_books", {}, user_id=alice.pk)

    page = session_of(root).get("/integrations/books/").content.decode()
    set_client(by=root, integration=books, client_id="pegboard", client_secret="secret-canary")
    done = sign_in(session_of(alice), MINE)
    answer = call_tool(books, "list_books", {}, user_id=alice.pk)
    with pytest.raises(ServerProblemError) as other:
        call_tool(books, "list_books", {}, user_id=bob.pk)

    assert done.state == "done", done.message
    assert "http://testserver/connections/callback" in page.replace("/account/", "/")
    assert (before.value.reason, other.value.reason) == (Reason.SIGN_IN_NEEDED,) * 2
    assert not answer.is_error
    asked = parse_qs(urlsplit(next(path for path in api.asked if "/authorize" in path)).query)
    assert asked["scope"] == ["books.list books.read"]
    assert asked["code_challenge_method"] == ["S256"]
    account = OAuthConnection.objects.get()
    assert (account.user, account.endpoint, account.issuer) == (alice, api.origin, api.origin)
    assert "canary" not in everything_stored()

    OAuthConnection.objects.update(expires_at=account.connected_at)
    renew_tokens()
    assert not call_tool(books, "list_books", {}, user_id=alice.pk).is_error
    assert len([path for path, *_ in api.sent if path == "/token"]) == 2


def test_pegboards_own_client_gets_a_token_and_a_new_one_when_it_ends(
    api: SignInServer, root: User, support: Group
) -> None:
    books = install(api.origin, support, "clientCredentials")
    assert (books.takes_accounts, books.takes_client) == (False, True)
    with pytest.raises(ServerProblemError) as before:
        call_tool(books, "list_books", {})

    set_client(by=root, integration=books, client_id="pegboard", client_secret="secret-canary")
    for _ in range(2):
        assert not call_tool(books, "list_books", {}).is_error
    account = OAuthConnection.objects.get()
    OAuthConnection.objects.update(expires_at=account.connected_at)
    assert not call_tool(books, "list_books", {}).is_error

    assert before.value.reason == Reason.SIGN_IN_NEEDED
    assert len([path for path, *_ in api.sent if path == "/token"]) == 2
    assert account.user is None
    assert list(api.scopes.values()) == [{"books.list", "books.read"}] * 2


def test_a_secret_goes_to_the_authorization_server_that_it_was_first_used_at_only(
    api: SignInServer, root: User, support: Group
) -> None:
    books = install(api.origin, support, "clientCredentials")
    set_client(by=root, integration=books, client_id="pegboard", client_secret="secret-canary")
    call_tool(books, "list_books", {})
    with sign_in_server() as evil:
        evil.is_api = True
        for kind in ("clientCredentials", "authorizationCode"):
            changed = parse_api(document(evil.origin, kind), file="books.json").integration
            books.source_ref = changed.source_ref
            books.save()
            OAuthConnection.objects.update(expires_at="2020-01-01T00:00:00Z")
            with pytest.raises(ServerProblemError):
                call_tool(books, "list_books", {})
        refused = begin(session_of(root), "/integrations/books/sign-in/")

        assert refused.state == "failed"
        assert not evil.sent
    assert OAuthClient.objects.get().issuer == api.origin


@pytest.mark.parametrize(
    ("kind", "instead", "reached"),
    [
        ("openIdConnect", {"issuer": "https://evil.example"}, [OPENID]),
        ("openIdConnect", {"code_challenge_methods_supported": ["plain"]}, [OPENID]),
        ("openIdConnect", {"token_endpoint": "http://10.0.0.1/token"}, [OPENID]),
        ("authorizationCode", {"code_challenge_methods_supported": ["plain"]}, [METADATA]),
    ],
)
def test_wrong_metadata_ends_the_sign_in_before_anything_is_sent(
    api: SignInServer, root: User, support: Group, kind: str, instead: dict[str, Any],
    reached: list[str],
) -> None:  # fmt: skip
    books = install(api.origin, support, kind)
    set_client(by=root, integration=books, client_id="pegboard", client_secret="secret-canary")
    api.instead = instead

    row = begin(session_of(root), "/integrations/books/sign-in/")

    assert row.state == "failed"
    assert (api.asked, api.sent) == (reached, [])


def test_document_that_names_a_private_token_endpoint_is_not_followed(
    api: SignInServer, root: User, support: Group, settings: Settings
) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = []
    for kind in ("authorizationCode", "openIdConnect"):
        books = install(api.origin, support, kind)
        set_client(by=root, integration=books, client_id="pegboard", client_secret="s")
        row = begin(session_of(root), "/integrations/books/sign-in/")
        assert row.state == "failed"
        books.delete()
    own = install(api.origin, support, "clientCredentials")
    set_client(by=root, integration=own, client_id="pegboard", client_secret="s")
    with pytest.raises(ServerProblemError):
        call_tool(own, "list_books", {})

    assert (api.asked, api.sent) == ([], [])


def test_code_of_another_issuer_and_a_wrong_state_are_refused(
    api: SignInServer, root: User, support: Group
) -> None:
    books = install(api.origin, support)
    set_client(by=root, integration=books, client_id="pegboard", client_secret="secret-canary")
    browser = session_of(root)
    row = begin(browser, "/integrations/books/sign-in/")
    back = go_there(browser, row)
    assert browser.get(back.replace("state=", "state=x")).status_code == 404
    api.issues = "https://evil.example"

    mixed_up = sign_in(browser, "/integrations/books/sign-in/")

    assert mixed_up.state == "failed"
    assert "/token" not in [path for path, *_ in api.sent]


@pytest.mark.parametrize(
    ("scheme", "sign_in_at"),
    [
        ({"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "https://a.example"}}}, {}),
        ({"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://a.example"}}}, {}),
        ({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/relative"}}}, {}),
        ({"type": "openIdConnect", "openIdConnectUrl": "file:///etc/passwd"}, {}),
        ({"type": "openIdConnect", "openIdConnectUrl": "https://a.example/\\x"}, {}),
        ({"type": "oauth2", "flows": 7}, {}),
        ({"type": "openIdConnect", "openIdConnectUrl": "https://a.example/x"},
         {"discovery": "https://a.example/x"}),
    ],
)  # fmt: skip
def test_scheme_without_a_usable_address_stays_a_token(
    scheme: dict[str, Any], sign_in_at: dict[str, str]
) -> None:
    text = document("https://books.example").replace(
        json.dumps(schemes("https://books.example")), json.dumps({"login": scheme})
    )
    integration = parse_api(text, file="books.json").integration

    assert dict(find_sign_in(integration.source_ref["security"])[1]) == sign_in_at
    assert list(integration.required_secrets) == ([] if sign_in_at else ["LOGIN_TOKEN"])


def test_scopes_are_those_of_schemes_with_a_sign_in() -> None:
    api = parse_api(document("https://books.example"), file="books.json")
    known = api.integration.source_ref["security"]

    assert api.operations[1].tool["annotations"]["http"]["scopes"] == {"login": ["books.destroy"]}
    assert read_scopes([{"login": ["b", "a", 7, "a b", ""]}, {"other": ["x"]}, 7], known) == {
        "login": ["a", "b"]
    }
    assert read_scopes({"login": ["a"]}, known) == {"login": ["a"]}
    assert read_scopes(None, known) == {}
