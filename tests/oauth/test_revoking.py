"""Disconnecting an account leaves no valid token at the server."""

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.models import Integration, OAuthClient, OAuthConnection, OAuthRevocation
from catalog.servers.oauth.tasks import revoke_token, sweep_revocations
from catalog.servers.secrets.sealed_values import rotate_secrets
from tests.factories import UserFactory
from tests.oauth.server import SignInServer
from tests.oauth.steps import begin, browser_of, everything_stored, sign_in

pytestmark = pytest.mark.django_db
SIGN_OUT = "/integrations/mail/sign-out/"


def forgotten(root: User) -> OAuthRevocation:
    """The admin signs in for everyone and disconnects; no worker has run yet."""
    client = browser_of(root)
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
    page = browser_of(root).get("/admin/catalog/oauthrevocation/").content.decode()
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
    sign_in(browser_of(root))
    sign_in(browser_of(alice), "/tools/connections/mail/sign-in/")

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
    client = browser_of(root)
    sign_in(client)
    told = client.post(SIGN_OUT, follow=True).content.decode()

    assert "The server cannot revoke access" in told
    assert not OAuthConnection.objects.exists()
    assert not OAuthRevocation.objects.exists()


def test_client_of_another_server_by_now_is_not_named_and_the_page_says_so(
    mail: Integration, server: SignInServer, root: User
) -> None:
    client = browser_of(root)
    sign_in(client)
    OAuthClient.objects.update(issuer="https://other.example")
    told = client.post(SIGN_OUT, follow=True).content.decode()

    assert "The server cannot revoke access. Revoke it there yourself." in told
    assert not OAuthRevocation.objects.exists()


def test_address_that_is_too_long_is_refused(
    mail: Integration, server: SignInServer, root: User
) -> None:
    server.instead = {"revocation_endpoint": f"{server.origin}/{'x' * 600}"}

    row = begin(browser_of(root))

    assert row.state == "failed"
    assert "not valid OAuth" in row.message
