"""Step-up authorization for more scopes, and disconnecting, which leaves no valid token."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.models import Integration, OAuthClient, OAuthConnection, OAuthRevocation
from catalog.servers.client.http_transport import merge_scopes, read_missing_scopes
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.oauth.sign_in import revoke_token, sweep_revocations
from catalog.servers.oauth.tokens import get_bearer_token
from catalog.servers.secrets.sealed_values import rotate_secrets
from tests.factories import UserFactory
from tests.oauth.server import SignInServer
from tests.oauth.steps import begin, everything_stored, sign_in
from tests.sessions import session_of

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
    sign_in(session_of(person), path)
    server.needs = "mail.read mail.send"

    first = refused(mail, user)
    page = session_of(person).get(path.replace("sign-in/", "")).content.decode()
    sign_in(session_of(person), path)
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
    sign_in(session_of(root))
    server.needs = "mail.send"
    assert refused(mail).reason is Reason.SCOPE_NEEDED
    sign_in(session_of(root))

    again = [refused(mail) for _ in range(3)]

    assert {one.reason for one in again} == {Reason.SCOPE_REFUSED}
    assert "would not help" in str(again[0])
    assert again[0].detail == "mail.send"
    assert OAuthConnection.objects.get().wanted_scope == ""
    assert (
        "asks for more rights" not in session_of(root).get("/integrations/mail/").content.decode()
    )


def test_other_tools_go_on_with_the_token_that_is_there(
    mail: Integration, server: SignInServer, root: User
) -> None:
    sign_in(session_of(root))
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
    sign_in(session_of(root))
    for needs in ("mail.send", "mail.delete"):
        server.needs = needs
        refused(mail)
    sign_in(session_of(root))

    assert scopes_asked(server)[-1] == ["mail.read", "mail.send", "mail.delete"]


def test_refusal_without_scopes_or_account_is_told_in_words(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.good.add("token")
    sign_in(session_of(root))
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


@pytest.mark.parametrize("place", ["metadata", "resource"])
def test_issuer_may_be_named_with_another_slash(
    mail: Integration, server: SignInServer, root: User, place: str
) -> None:
    slashed = f"{server.origin}/"
    if place == "metadata":  # both addresses have the same metadata, so it is the same server
        server.instead["issuer"] = server.issues = slashed
    else:
        server.resource_instead["authorization_servers"] = [slashed]

    assert sign_in(session_of(root)).state == "done"


def test_issuer_of_the_way_back_is_the_one_of_the_metadata_to_the_letter(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.issues = f"{server.origin}/"

    assert sign_in(session_of(root)).state == "failed"


def test_issuer_that_is_written_with_a_slash_everywhere_is_fine(
    mail: Integration, server: SignInServer, root: User
) -> None:
    slashed = f"{server.origin}/"
    server.instead["issuer"] = server.issues = slashed
    server.resource_instead["authorization_servers"] = [slashed]

    assert sign_in(session_of(root)).state == "done"
    assert OAuthConnection.objects.get().issuer == slashed


SIGN_OUT = "/integrations/mail/sign-out/"


def forgotten(root: User) -> OAuthRevocation:
    """The admin signs in for everyone and disconnects; no worker has run yet."""
    client = session_of(root)
    sign_in(client)
    told = client.post(SIGN_OUT, follow=True).content.decode()
    assert "Pegboard asks the server to revoke its access" in told
    return OAuthRevocation.objects.get()


def older(row: OAuthRevocation, by: timedelta) -> None:
    OAuthRevocation.objects.filter(pk=row.pk).update(created_at=timezone.now() - by)


def good(server: SignInServer) -> set[str]:
    """Return the tokens that are still valid."""
    return server.good | server._refresh


@pytest.mark.parametrize("secret", ["", "canary-of-the-client"])
def test_disconnected_token_is_given_back(
    mail: Integration, server: SignInServer, root: User, secret: str
) -> None:
    server.registers_secret = secret
    row = forgotten(root)
    before = good(server)
    revoke_token(row.pk)
    revoke_token(row.pk)  # a duplicate message

    assert (len(before), good(server)) == (2, set())
    assert not OAuthConnection.objects.exists()
    assert not OAuthRevocation.objects.exists()
    assert len([path for path in server.asked if path == "/revoke"]) == 2


def test_nothing_secret_is_stored_meanwhile(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.registers_secret = "canary-of-the-client"

    forgotten(root)

    assert "canary" not in everything_stored()
    page = session_of(root).get("/admin/catalog/oauthrevocation/").content.decode()
    assert f"{server.origin}/revoke" in page
    assert "canary" not in page


def test_lost_message_is_made_up_for(mail: Integration, server: SignInServer, root: User) -> None:
    row = forgotten(root)

    sweep_revocations()
    early = good(server)
    older(row, timedelta(minutes=5))
    sweep_revocations()

    assert early  # its message may still arrive
    assert good(server) == set()


def test_server_that_is_ill_or_away_is_told_later_for_a_day(
    mail: Integration, server: SignInServer, root: User
) -> None:
    row = forgotten(root)
    server.is_ill = True
    revoke_token(row.pk)
    OAuthRevocation.objects.update(endpoint="http://127.0.0.1:1/revoke")
    revoke_token(row.pk)
    kept = OAuthRevocation.objects.count()
    older(row, timedelta(days=2))
    sweep_revocations()

    assert kept == 1
    assert not OAuthRevocation.objects.exists()


def test_token_goes_back_with_its_person_or_its_integration(
    mail: Integration, server: SignInServer, root: User, support: Group
) -> None:
    alice = UserFactory.create(username="alice", groups=[support])
    sign_in(session_of(root))
    sign_in(session_of(alice), "/tools/connections/mail/sign-in/")

    alice.delete()
    mail.delete()
    for row in OAuthRevocation.objects.all():
        revoke_token(row.pk)

    assert good(server) == set()
    assert not OAuthRevocation.objects.exists()


def test_change_of_keys_leaves_nothing_behind(
    mail: Integration, server: SignInServer, root: User, settings: Settings
) -> None:
    server.registers_secret = "canary-of-the-client"
    row = forgotten(root)
    new = Fernet.generate_key().decode()
    settings.PEGBOARD_ENCRYPTION_KEYS = (new, *settings.PEGBOARD_ENCRYPTION_KEYS)
    rotated = rotate_secrets()
    settings.PEGBOARD_ENCRYPTION_KEYS = (new,)
    revoke_token(row.pk)

    assert (rotated.sealed, rotated.lost) == (3, [])  # the client's secret is kept, too
    assert good(server) == set()


def test_key_that_is_gone_ends_it(mail: Integration, server: SignInServer, root: User) -> None:
    row = forgotten(root)
    OAuthRevocation.objects.update(token_purpose="something else")

    revoke_token(row.pk)

    assert not OAuthRevocation.objects.exists()
    assert "/revoke" not in server.asked


def test_server_without_such_an_address_is_told_nothing(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.instead = {"revocation_endpoint": None}
    client = session_of(root)
    sign_in(client)
    told = client.post(SIGN_OUT, follow=True).content.decode()

    assert "The server cannot revoke access" in told
    assert not OAuthConnection.objects.exists()
    assert not OAuthRevocation.objects.exists()


def test_client_of_another_server_by_now_is_not_named_and_the_page_says_so(
    mail: Integration, server: SignInServer, root: User
) -> None:
    client = session_of(root)
    sign_in(client)
    OAuthClient.objects.update(issuer="https://other.example")
    told = client.post(SIGN_OUT, follow=True).content.decode()

    assert "The server cannot revoke access. Revoke it there yourself." in told
    assert not OAuthRevocation.objects.exists()


def test_address_that_is_too_long_is_refused(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.instead = {"revocation_endpoint": f"{server.origin}/{'x' * 600}"}

    row = begin(session_of(root))

    assert row.state == "failed"
    assert "not valid OAuth" in row.message
