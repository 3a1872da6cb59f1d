"""The mail server and the sign-in provider, from their settings."""

import pytest

from marketplace.config.env import SettingsError
from marketplace.config.mail_settings import mail_settings
from marketplace.config.oidc_settings import group_mapping, providers
from marketplace.config.settings_table import read_settings


@pytest.mark.parametrize(
    ("url", "host", "port", "changes", "begins"),
    [
        ("smtp://mail.example", "mail.example", 25, False, False),
        ("smtp+tls://mail.example", "mail.example", 587, True, False),
        ("smtps://mail.example", "mail.example", 465, False, True),
        ("smtp+tls://[2001:db8::1]:2525/", "2001:db8::1", 2525, True, False),
    ],
)
def test_mail_server_is_named_by_an_address(
    url: str, host: str, port: int, changes: bool, begins: bool
) -> None:
    assert read_settings({"PEGBOARD_EMAIL_URL": url})["PEGBOARD_EMAIL_URL"] == url

    found = mail_settings(url)

    assert found["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == (host, port)
    assert (found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (changes, begins)


def test_special_characters_of_the_password_are_written_as_in_any_address() -> None:
    found = mail_settings("smtps://peg%40board:s%3Acret@mail.example")

    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("peg@board", "s:cret")


def test_without_a_mail_server_mails_are_written_out() -> None:
    assert mail_settings("") == {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PEGBOARD_EMAIL_URL", "mail.example:secret"),
        ("PEGBOARD_EMAIL_URL", "https://:secret@mail.example"),
        ("PEGBOARD_EMAIL_URL", "smtp://user:secret@mail.example:many"),
        ("PEGBOARD_EMAIL_URL", "smtp://user:secret@mail.example/secret"),
        ("PEGBOARD_EMAIL_URL", "smtp://"),
        ("PEGBOARD_EMAIL_FROM", "Pegboard"),
        ("PEGBOARD_EMAIL_FROM", "Pegboard <pegboard>"),
        ("PEGBOARD_OIDC_ISSUER", "login.example"),
        ("PEGBOARD_OIDC_ISSUER", "file:///secret"),
        ("PEGBOARD_OIDC_GROUPS", "staff"),
        ("PEGBOARD_OIDC_GROUPS", "staff=Everyone,=Support"),
        ("PEGBOARD_OIDC_GROUPS", "staff="),
    ],
)
def test_wrong_value_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be") as refusal:
        read_settings({"PEGBOARD_OIDC_CLIENT_ID": "pegboard", name: value})

    assert "secret" not in str(refusal.value)


def test_issuer_needs_a_client() -> None:
    with pytest.raises(SettingsError, match="PEGBOARD_OIDC_CLIENT_ID is needed"):
        read_settings({"PEGBOARD_OIDC_ISSUER": "https://login.example"})


def test_last_equals_sign_parts_value_and_group() -> None:
    pairs = group_mapping(["cn=staff=Everyone", " staff = Support "])

    assert pairs == (("cn=staff", "Everyone"), ("staff", "Support"))


def test_provider_is_described_to_the_library() -> None:
    values = read_settings(
        {
            "PEGBOARD_OIDC_ISSUER": "https://login.example/realm/",
            "PEGBOARD_OIDC_CLIENT_ID": "pegboard",
            "PEGBOARD_OIDC_SCOPES": "openid,groups",
        }
    )

    found = providers(values)["openid_connect"]

    assert found["APPS"][0]["settings"] == {"server_url": "https://login.example/realm"}
    assert found["SCOPE"] == ["openid", "groups"]
    assert found["OAUTH_PKCE_ENABLED"]


def test_without_an_issuer_there_is_no_provider() -> None:
    assert providers(read_settings({})) == {}
