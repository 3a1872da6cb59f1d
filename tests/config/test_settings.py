"""Settings: generated docs, one line for each invalid value, the mail server and the provider."""

import os
import random
import re
import subprocess
import sys
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings as DjangoSettings

from marketplace.config.env import PREFIX, Setting, SettingsError
from marketplace.config.provider_settings import group_mapping, mail_settings, providers
from marketplace.config.settings_table import SETTINGS, read_settings
from marketplace.operate.embedded.first_setup import create_first_admin
from tests.docs.settings_page import PAGE, SECTIONS, render_settings

PROJECT = Path(__file__).parents[2]
APPS = ("marketplace", "discovery", "catalog", "acl")


def ratio(first: str, second: str) -> float:
    return SequenceMatcher(None, second, first).ratio()


def test_docs_are_generated_from_the_table_of_the_code() -> None:
    assert PAGE.read_text("utf-8") == render_settings(), "run python -m tests.docs"


def test_every_section_of_the_docs_begins_with_a_setting() -> None:
    assert SECTIONS.keys() <= {setting.name for setting in SETTINGS}


def _wrong_values() -> list[tuple[str, str, str]]:
    """Return name, invalid value and error of cases."""
    wrong = []
    for setting in SETTINGS:
        name = setting.name
        if isinstance(setting.default, bool):
            wrong.append((name, "perhaps", f"{name} must be true or false, not 'perhaps'"))
        elif isinstance(setting.default, int):
            assert setting.least is not None, name
            assert setting.most is not None, name
            low, high = int(setting.least) - 1, int(setting.most) + 1
            wrong.append((name, "many", f"{name} must be a number, not 'many'"))
            wrong.append((name, str(low), f"{name} must be at least {setting.least}, not {low}"))
            wrong.append((name, str(high), f"{name} must be at most {setting.most}, not {high}"))
        elif setting.choices:
            listed = ", ".join(setting.choices)
            wrong.append((name, "other", f"{name} must be one of {listed}, not 'other'"))
    return wrong


def test_wrong_values_are_refused_in_one_line() -> None:
    for name, value, sentence in _wrong_values():
        with pytest.raises(SettingsError) as refusal:
            read_settings({name: value})

        assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://pegboard:secret@host/name"),
        ("DATABASE_URL", "postgresql://host:secret@x:many/name"),
        ("DATABASE_URL", "postgresql://pegboard:secret@host"),
        ("REDIS_URL", "secret:6379"),
        ("REDIS_URL", "redis://[secret"),
        ("PEGBOARD_EMBEDDING_URL", "file:///secret"),
    ],
)
def test_address_of_another_kind_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be") as refusal:
        read_settings({name: value})

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://a:b@db:5432/pegboard?sslmode=require"),
        ("DATABASE_URL", "postgresql://postgres@%2Frun%2Fpegboard/pegboard"),
        ("REDIS_URL", "rediss://:password@cache:6380/1"),
        ("REDIS_URL", "unix:///run/redis.sock"),
        ("PEGBOARD_EMBEDDING_URL", "http://localhost:8080/v1"),
    ],
)
def test_right_address_is_kept_as_it_is(name: str, value: str) -> None:
    assert read_settings({name: value})[name] == value


def test_remote_model_needs_an_address() -> None:
    with pytest.raises(SettingsError, match="PEGBOARD_EMBEDDING_URL is needed"):
        read_settings({"PEGBOARD_EMBEDDER": "openai"})


def test_a_bound_needs_a_replica() -> None:
    with pytest.raises(SettingsError, match="PEGBOARD_REPLICA_URL is needed"):
        read_settings({"PEGBOARD_REPLICA_STALENESS": "5"})


def test_empty_value_means_the_default() -> None:
    for setting in SETTINGS:
        assert read_settings({setting.name: " "})[setting.name] == setting.default, setting.name


@given(seed=st.randoms(use_true_random=False), setting=st.sampled_from(SETTINGS))
def test_misspelt_setting_stops_the_start_with_its_nearest_name(
    seed: random.Random, setting: Setting
) -> None:
    names = {setting.name for setting in SETTINGS}
    tail = list(setting.name.removeprefix(PREFIX))
    at = seed.randrange(len(tail))
    match seed.choice(("drop", "double", "swap", "replace")):
        case "drop":
            del tail[at]
        case "double":
            tail.insert(at, tail[at])
        case "swap":
            tail[at : at + 2] = reversed(tail[at : at + 2])
        case "replace":
            tail[at] = seed.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    name = PREFIX + "".join(tail)
    assume(setting.name.startswith(PREFIX) and name not in names and len(tail) > 6)

    with pytest.raises(SettingsError) as refusal:
        read_settings({name: "1"})

    nearest = str(refusal.value).removeprefix(f"{name} is no setting: do you mean ")[:-1]
    assert nearest in names
    assert ratio(name, nearest) >= ratio(name, setting.name)


@pytest.mark.parametrize(
    "name",
    [
        *("PEGBOARD_KEY", "PEGBOARD_SITE", "PEGBOARD_ALIVE_FILE", "PEGBOARD_TEST_EXAMPLES"),
        *("PEGBOARD_WEB_SERVICE_HOST", "PEGBOARD_WEB_SERVICE_PORT_HTTP", "PEGBOARD_WEB_PORT"),
        *("PEGBOARD_WEB_PORT_8000_TCP", "PEGBOARD_WEB_PORT_8000_TCP_ADDR", "HOME", "DATABASE_NAME"),
    ],
)
def test_variables_of_others_stop_nothing(name: str) -> None:
    assert not SETTINGS[0].name.startswith(name)
    assert read_settings({name: "anything"})


def test_name_like_no_other_leads_to_the_list() -> None:
    with pytest.raises(SettingsError, match="PEGBOARD_XYLOPHONE is no setting: docs"):
        read_settings({"PEGBOARD_XYLOPHONE": "1"})


def test_every_wrong_value_is_told_at_once_and_nothing_starts() -> None:
    wrong = {"PEGBOARD_DEBUG": "perhaps", "PEGBOARD_MAX_TOOLS": "0"}

    run = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT,
        env={**os.environ, **wrong},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "Pegboard cannot start:",
        "PEGBOARD_DEBUG must be true or false, not 'perhaps'",
        "PEGBOARD_MAX_TOOLS must be at least 1, not 0",
    ]


def test_every_setting_is_used() -> None:
    code = "\n".join(path.read_text("utf-8") for app in APPS for path in _code_of(app))
    # Reading a setting into Django's settings under its own name is not yet using it.
    code = re.sub(r"^(\w+)(: \w+)? = _env\[\"\1\"\]$", "", code, flags=re.MULTILINE)

    assert {setting.name for setting in SETTINGS} - set(re.findall(r"\w+", code)) == set()


def _code_of(app: str) -> list[Path]:
    paths = (PROJECT / app).rglob("*.py")
    return [path for path in paths if path.name != "env.py" and "migrations" not in path.parts]


@pytest.mark.django_db
@pytest.mark.parametrize("password", ["", "correct horse battery"])
def test_first_admin_has_the_password_that_the_operator_set(
    password: str, settings: DjangoSettings
) -> None:
    settings.PEGBOARD_ADMIN_PASSWORD = password

    told = create_first_admin()
    again = create_first_admin()

    admin = User.objects.get(is_superuser=True)
    assert admin.check_password(password or str(told))
    assert bool(told) is not bool(password)  # what the operator knows is printed nowhere
    assert again is None


def test_short_password_of_the_first_admin_stops_the_start() -> None:
    with pytest.raises(SettingsError, match="PEGBOARD_ADMIN_PASSWORD must have 10 characters"):
        read_settings({"PEGBOARD_ADMIN_PASSWORD": "too short"})


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
