"""Step-up authorization, for tools that need more scopes; and exact comparison of issuers."""

from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from django.contrib.auth.models import Group, User

from catalog.models import Integration, OAuthConnection
from catalog.servers.client.http_transport import merge_scopes, read_missing_scopes
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.oauth.tokens import get_bearer_token
from tests.factories import UserFactory
from tests.oauth.server import SignInServer
from tests.oauth.steps import begin, browser_of, go_there, sign_in

pytestmark = pytest.mark.django_db
OWN = "/tools/connections/mail/sign-in/"


def refused(mail: Integration, user: User | None = None) -> ServerProblemError:
    with pytest.raises(ServerProblemError) as caught:
        call_tool(mail, "whoami", {}, user_id=user.pk if user else None)
    return caught.value


def scopes_asked(server: SignInServer) -> list[list[str]]:
    """Return the scopes of each sign-in."""
    asked = [parse_qs(urlsplit(path).query) for path in server.asked if "/authorize" in path]
    return [one["scope"][0].split() for one in asked]


@pytest.mark.parametrize("own", [True, False])
def test_next_sign_in_asks_for_the_union_and_then_it_works(
    mail: Integration, server: SignInServer, root: User, support: Group, own: bool
) -> None:
    alice = UserFactory.create(username="alice", groups=[support])
    user, person, path = (alice, alice, OWN) if own else (None, root, "/integrations/mail/sign-in/")
    sign_in(browser_of(person), path)
    server.needs = "mail.read mail.send"

    first = refused(mail, user)
    page = browser_of(person).get(path.replace("sign-in/", "")).content.decode()
    sign_in(browser_of(person), path)
    answer = call_tool(mail, "whoami", {}, user_id=alice.pk)

    assert (first.reason, first.detail) == (Reason.SCOPE_NEEDED, "mail.read mail.send")
    assert "A tool needs more permissions" in page
    assert "mail.send" in page
    assert scopes_asked(server) == [["mail.read"], ["mail.read", "mail.send"]]
    assert answer.content
    assert OAuthConnection.objects.get().wanted_scope == ""


def test_second_refusal_is_told_in_words_and_leads_to_no_further_sign_in(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.grants = {"mail.read"}
    sign_in(browser_of(root))
    server.needs = "mail.send"
    assert refused(mail).reason is Reason.SCOPE_NEEDED
    sign_in(browser_of(root))

    again = [refused(mail) for _ in range(3)]

    assert {one.reason for one in again} == {Reason.SCOPE_REFUSED}
    assert "would not help" in str(again[0])
    assert again[0].detail == "mail.send"
    assert OAuthConnection.objects.get().wanted_scope == ""
    assert (
        "asks for more rights" not in browser_of(root).get("/integrations/mail/").content.decode()
    )


def test_other_tools_go_on_with_the_token_that_is_there(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(browser_of(root))
    before, server.needs = get_bearer_token(mail), "mail.send"
    refused(mail)
    server.needs = ""

    assert call_tool(mail, "whoami", {}).content
    assert get_bearer_token(mail) == before
    mail.refresh_from_db()
    assert mail.connection == Integration.Connection.CONNECTED


def test_tools_that_ask_one_after_the_other_lose_nothing(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(browser_of(root))
    for needs in ("mail.send", "mail.delete"):
        server.needs = needs
        refused(mail)
    sign_in(browser_of(root))

    assert scopes_asked(server)[-1] == ["mail.read", "mail.send", "mail.delete"]


def test_refusal_without_scopes_or_account_is_told_in_words(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.good.add("token")
    sign_in(browser_of(root))
    server.needs = "mail.read"
    server.scopes.clear()

    assert refused(mail).reason is Reason.SCOPE_REFUSED  # it was requested already


@pytest.mark.parametrize(
    ("status", "challenge", "scope"),
    [
        (403, 'Bearer error="insufficient_scope", scope="a b"', "a b"),
        (403, 'Bearer scope="a b a", error=insufficient_scope', "a b"),
        (401, 'Bearer error="insufficient_scope", scope="a"', "a"),
        (403, 'Bearer error="insufficient_scope"', ""),
        (403, 'Bearer error="insufficient_scope", scope="é \x07 ok \\ x"', "ok x"),
        (403, 'Bearer error="invalid_token", scope="a"', None),
        (403, "", None),
        (200, 'Bearer error="insufficient_scope", scope="a"', None),
    ],
)
def test_challenge_is_read_with_care(status: int, challenge: str, scope: str | None) -> None:
    headers = [(b"WWW-Authenticate", challenge.encode())]

    assert read_missing_scopes(httpx2.Response(status, headers=headers)) == scope


def test_scopes_without_end_are_not_kept() -> None:
    assert len(merge_scopes(" ".join(f"s{number}" for number in range(1_000))).split()) == 50
    assert merge_scopes("x" * 201 + " y") == "y"


@pytest.mark.parametrize("place", ["metadata", "resource", "way back"])
def test_issuer_with_another_slash_is_another_issuer(
    mail: Integration, server: SignInServer, root: User, place: str
) -> None:
    slashed = f"{server.origin}/"
    if place == "metadata":
        server.instead["issuer"] = slashed
    elif place == "resource":
        server.resource_instead["authorization_servers"] = [slashed]
    else:
        server.issues = slashed

    client = browser_of(root)
    row = begin(client)
    if place == "way back":
        client.get(go_there(client, row))
        row = sign_in(client)

    assert row.state == "failed"
    assert "does not match the expected issuer" in row.message


def test_issuer_that_is_written_with_a_slash_everywhere_is_fine(
    mail: Integration, server: SignInServer, root: User
) -> None:
    slashed = f"{server.origin}/"
    server.instead["issuer"] = server.issues = slashed
    server.resource_instead["authorization_servers"] = [slashed]

    assert sign_in(browser_of(root)).state == "done"
    assert OAuthConnection.objects.get().issuer == slashed
