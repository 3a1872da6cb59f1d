"""Sign-in by OpenID Connect, with a real provider over HTTP on this machine."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from acl.models import AuditEntry
from acl.people.groups import set_joined_by_default
from acl.people.people import deactivate
from marketplace.config.provider_settings import group_mapping, providers
from marketplace.config.settings_table import read_settings
from tests.factories import GroupFactory
from tests.pages.conftest import PASSWORD
from tests.people.codes import code_of
from tests.people.conftest import SECRET
from tests.sessions import session_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:.*authlib.*:DeprecationWarning"),
]
CLAIMS = {"email": "alice@example.com", "email_verified": True, "groups": ["staff", "support-team"]}


@dataclass
class Provider:
    """A provider and its users."""

    url: str

    def knows(self, sub: str, **claims: Any) -> None:
        requests.put(f"{self.url}/users/{sub}", json=claims, timeout=120).raise_for_status()


@pytest.fixture
def provider(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A configured provider with two mapped groups."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations within its package
        from oidc_provider_mock import run_server_in_thread

        with run_server_in_thread() as server:
            url = f"http://localhost:{server.server_port}"
            set_up(settings, url)
            yield Provider(url)


def set_up(settings: Settings, url: str, **more: str) -> None:
    """Configure the provider by environment variables."""
    given = {
        "PEGBOARD_OIDC_ISSUER": url,
        "PEGBOARD_OIDC_CLIENT_ID": "pegboard",
        "PEGBOARD_OIDC_CLIENT_SECRET": "quite secret",
        "PEGBOARD_OIDC_NAME": "Example Inc",
        "PEGBOARD_OIDC_GROUPS": "staff=Everyone, support-team=Support, boss=Board",
        **more,
    }
    values = read_settings(given)
    for name in given:
        setattr(settings, name, values[name])
    settings.PEGBOARD_OIDC_GROUPS = group_mapping(values["PEGBOARD_OIDC_GROUPS"])
    settings.SOCIALACCOUNT_PROVIDERS = providers(values)


class Browser:
    """A minimal browser: cookies, forms, redirects."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.http = requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.http.get(self._url(path), timeout=120)

    def post(self, path: str, form: Mapping[str, str], **more: Any) -> requests.Response:
        token = self.http.cookies.get("csrftoken") or ""
        data = {"csrfmiddlewaretoken": token, **form}
        return self.http.post(self._url(path), data=data, timeout=120, **more)

    def to_the_provider(self, **form: str) -> str:
        """Press the button; return the provider's URL."""
        self.get("/sign-in/")
        page = self.post("/sign-in/oidc/", form).text
        found = re.search(r'http-equiv="refresh"\s+content="0;url=([^"]+)"', page)
        assert found, page
        return unescape(found.group(1))

    def back(self, address: str, sub: str) -> str:
        """Sign in at the provider; return the redirect URL."""
        answer = self.http.post(address, data={"sub": sub}, allow_redirects=False, timeout=120)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def sign_in(self, sub: str, **form: str) -> requests.Response:
        return self.get(self.back(self.to_the_provider(**form), sub))

    def who(self) -> str:
        """Return the signed-in user's name, or ""."""
        found = re.search(r"sign in as ([\w.@]+),", self.get("/account/").text)
        return found.group(1) if found else ""

    def _url(self, path: str) -> str:
        return path if path.startswith("http") else self.site + path


@pytest.fixture
def a_browser(live_server: LiveServer) -> Callable[[], Browser]:
    return lambda: Browser(live_server.url)


@pytest.fixture
def chrome(a_browser: Callable[[], Browser]) -> Browser:
    return a_browser()


@pytest.fixture
def everyone(db: None) -> Group:
    return GroupFactory.create(name="Everyone")


def groups_of(person: User) -> set[str]:
    return set(person.groups.values_list("name", flat=True))


def test_button_is_there_where_a_provider_is_set_up(client: Client, provider: Provider) -> None:
    assert "Sign in with Example Inc" in client.get("/sign-in/").content.decode()


def test_without_a_provider_there_is_nothing_of_it(client: Client) -> None:
    assert "Sign in with" not in client.get("/sign-in/").content.decode()
    assert client.post("/sign-in/oidc/").status_code == 404
    assert client.get("/sign-in/oidc/callback/").status_code == 404


def test_the_way_there_begins_with_a_form(client: Client, provider: Provider) -> None:
    assert client.get("/sign-in/oidc/").status_code == 405
    assert Client(enforce_csrf_checks=True).post("/sign-in/oidc/").status_code == 403


def test_signing_in_links_by_verified_address_and_maps_groups(
    provider: Provider, chrome: Browser, alice: User, everyone: Group
) -> None:
    own = GroupFactory.create(name="Own")
    alice.groups.set([own])
    provider.knows("a1", **CLAIMS)

    chrome.sign_in("a1")

    assert chrome.who() == "alice"
    assert groups_of(alice) == {"Own", "Everyone", "Support"}
    assert SocialAccount.objects.get(user=alice).uid == "a1"
    entry = AuditEntry.objects.get(action="person.groups_mapped")
    assert entry.details == {"added": ["Everyone", "Support"]}
    assert AuditEntry.objects.filter(action="person.connected", by=alice).count() == 1


def test_next_sign_in_takes_mapped_groups_away_and_no_others(
    provider: Provider, a_browser: Callable[[], Browser], alice: User, everyone: Group
) -> None:
    alice.groups.add(GroupFactory.create(name="Own"))
    provider.knows("a1", **CLAIMS)
    a_browser().sign_in("a1")
    provider.knows("a1", **{**CLAIMS, "groups": ["staff"]})

    a_browser().sign_in("a1")

    assert groups_of(alice) == {"Own", "Everyone"}
    entry = AuditEntry.objects.filter(action="person.groups_mapped").latest("pk")
    assert entry.details == {"removed": ["Support"]}


def test_no_claim_at_all_takes_all_mapped_groups_away(
    provider: Provider, chrome: Browser, alice: User, everyone: Group
) -> None:
    provider.knows("a1", email="alice@example.com", email_verified=True)

    chrome.sign_in("a1")

    assert groups_of(alice) == set()


def test_nothing_is_written_where_nothing_changes(
    provider: Provider, a_browser: Callable[[], Browser], alice: User, everyone: Group
) -> None:
    provider.knows("a1", **CLAIMS)
    a_browser().sign_in("a1")

    a_browser().sign_in("a1")

    assert AuditEntry.objects.filter(action="person.groups_mapped").count() == 1


@pytest.mark.parametrize("verified", [False, None, "false", "true", 1])
def test_an_address_that_is_not_verified_opens_nothing(
    provider: Provider, chrome: Browser, alice: User, verified: object
) -> None:
    provider.knows("m1", **{**CLAIMS, "email_verified": verified})

    answer = chrome.sign_in("m1")

    assert "No account found" in answer.text
    assert chrome.who() == ""
    assert not SocialAccount.objects.exists()


def test_an_address_that_is_not_confirmed_here_opens_nothing(
    provider: Provider, chrome: Browser, alice: User
) -> None:
    EmailAddress.objects.update(verified=False)
    provider.knows("a1", **CLAIMS)

    chrome.sign_in("a1")

    assert chrome.who() == ""


@pytest.mark.parametrize("rank", ["is_staff", "is_superuser"])
def test_no_admins_account_is_opened_by_an_address(
    provider: Provider, chrome: Browser, alice: User, rank: str
) -> None:
    User.objects.filter(pk=alice.pk).update(**{rank: True})
    provider.knows("m1", **CLAIMS)

    answer = chrome.sign_in("m1")

    assert "No account found" in answer.text
    assert chrome.who() == ""


def test_an_admin_connects_from_inside_and_then_signs_in(
    provider: Provider, a_browser: Callable[[], Browser], alice: User
) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    provider.knows("a1", **CLAIMS)
    inside = a_browser()
    inside.get("/sign-in/")
    inside.post("/sign-in/", {"login": "alice", "password": PASSWORD})

    asked = connect(inside, "a1")
    assert "Confirm your identity" in asked.text
    inside.post(asked.url, {"password": PASSWORD})
    outside = a_browser()
    outside.sign_in("a1")

    assert outside.who() == "alice"


def connect(browser: Browser, sub: str) -> requests.Response:
    page = browser.post("/sign-in/oidc/", {"process": "connect", "next": "/account/"}).text
    found = re.search(r'content="0;url=([^"]+)"', page)
    assert found
    return browser.get(browser.back(unescape(found.group(1)), sub))


def test_the_code_is_asked_for_all_the_same(
    provider: Provider, chrome: Browser, alice: User
) -> None:
    TOTP.activate(alice, SECRET)
    provider.knows("a1", **CLAIMS)

    answer = chrome.sign_in("a1")

    assert "Enter your code" in answer.text
    assert chrome.who() == ""
    chrome.post("/sign-in/code/", {"code": code_of(SECRET)})
    assert chrome.who() == "alice"


def test_who_is_deactivated_here_stays_out(
    provider: Provider, a_browser: Callable[[], Browser], alice: User, admin: User, everyone: Group
) -> None:
    provider.knows("a1", **CLAIMS)
    browser = a_browser()
    browser.sign_in("a1")
    deactivate(by=admin, person=alice)
    provider.knows("a1", **{**CLAIMS, "groups": []})

    assert browser.who() == ""
    answer = browser.sign_in("a1")

    assert "No account found" in answer.text
    assert browser.who() == ""
    assert groups_of(alice) == {"Everyone", "Support"}


def test_a_stranger_gets_no_account(provider: Provider, chrome: Browser) -> None:
    provider.knows("s1", email="stranger@example.com", email_verified=True)

    answer = chrome.sign_in("s1")

    assert answer.status_code == 200
    assert "No account found" in answer.text
    assert not User.objects.exists()


def test_strangers_get_accounts_where_the_operator_says_so(
    provider: Provider, chrome: Browser, everyone: Group, settings: Settings
) -> None:
    settings.PEGBOARD_OIDC_SIGN_UP = True
    set_joined_by_default(by=None, group=GroupFactory.create(name="All staff"), joined=True)
    provider.knows(
        "d1",
        email="dora@example.com",
        email_verified=True,
        groups="staff",
        preferred_username="dora",
    )

    chrome.sign_in("d1")

    dora = User.objects.get()
    assert chrome.who() == "dora"
    assert groups_of(dora) == {"Everyone", "All staff"}
    assert not dora.has_usable_password()
    assert AuditEntry.objects.get(action="person.joined").details == {"added": ["Everyone"]}


def test_a_new_account_never_takes_an_address_that_someone_has(
    provider: Provider, chrome: Browser, alice: User, settings: Settings
) -> None:
    settings.PEGBOARD_OIDC_SIGN_UP = True
    provider.knows("m1", **{**CLAIMS, "email_verified": False})

    answer = chrome.sign_in("m1")

    assert "No account found" in answer.text
    assert User.objects.count() == 1


def test_state_of_another_browser_is_refused(
    provider: Provider, a_browser: Callable[[], Browser], alice: User
) -> None:
    provider.knows("m1", **CLAIMS)
    villain, victim = a_browser(), a_browser()
    link = villain.back(villain.to_the_provider(), "m1")

    answer = victim.get(link)

    assert answer.status_code == 401
    assert "Sign-in failed" in answer.text
    assert victim.who() == ""


def test_an_answer_counts_once(provider: Provider, chrome: Browser, alice: User) -> None:
    provider.knows("a1", **CLAIMS)
    link = chrome.back(chrome.to_the_provider(), "a1")
    chrome.get(link)
    chrome.http.cookies.clear()

    answer = chrome.get(link)

    assert answer.status_code == 401
    assert chrome.who() == ""


def test_the_way_there_is_bound_to_this_browser(provider: Provider, chrome: Browser) -> None:
    query = parse_qs(urlsplit(chrome.to_the_provider()).query)

    assert query["code_challenge_method"] == ["S256"]
    assert query["client_id"] == ["pegboard"]
    assert set(query["scope"][0].split()) == {"openid", "profile", "email"}
    assert len(query["state"][0]) >= 16


@pytest.mark.parametrize("lie", [{"aud": "another"}, {"iss": "http://localhost:1"}, {"exp": 1}])
def test_token_for_or_of_others_or_too_old_is_refused(
    provider: Provider,
    chrome: Browser,
    alice: User,
    caplog: pytest.LogCaptureFixture,
    lie: dict[str, object],
) -> None:
    provider.knows("a1", **CLAIMS, **lie)

    answer = chrome.sign_in("a1")

    assert answer.status_code == 401
    assert chrome.who() == ""
    assert not SocialAccount.objects.exists()
    assert "Invalid id_token" in caplog.text


def test_answers_about_two_people_are_refused(
    provider: Provider, chrome: Browser, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oidc_provider_mock._app import OpenIDCode

    token = {"sub": "someone-else"}
    monkeypatch.setattr(OpenIDCode, "generate_user_info", lambda *args: token)
    provider.knows("a1", **CLAIMS)

    answer = chrome.sign_in("a1")

    assert answer.status_code == 401
    assert chrome.who() == ""


def test_saying_no_over_there_changes_nothing(
    provider: Provider, chrome: Browser, alice: User
) -> None:
    address = chrome.to_the_provider()

    answer = chrome.http.post(address, data={"action": "deny"}, timeout=120)

    assert "You are not signed in" in answer.text or "failed" in answer.text
    assert chrome.who() == ""


def test_a_provider_that_is_away_is_told(chrome: Browser, settings: Settings) -> None:
    set_up(settings, "http://127.0.0.1:1")
    chrome.get("/sign-in/")

    answer = chrome.post("/sign-in/oidc/", {})

    assert answer.status_code == 502
    assert "Sign-in failed" in answer.text


def test_the_provider_makes_admins_and_unmakes_them(
    provider: Provider,
    a_browser: Callable[[], Browser],
    alice: User,
    admin: User,
    settings: Settings,
) -> None:
    settings.PEGBOARD_OIDC_ADMIN_GROUP = "board"
    ranks = []
    for groups in (["board"], []):
        provider.knows("a1", **{**CLAIMS, "groups": groups})
        a_browser().sign_in("a1")
        alice.refresh_from_db()
        ranks.append((alice.is_staff, alice.is_superuser))

    assert ranks == [(True, True), (False, False)]
    entries = AuditEntry.objects.filter(action="person.groups_mapped").order_by("pk")
    assert [entry.details.get("admin") for entry in entries][-2:] == [True, False]


def test_the_last_admin_stays_one(
    provider: Provider, a_browser: Callable[[], Browser], alice: User, settings: Settings
) -> None:
    settings.PEGBOARD_OIDC_ADMIN_GROUP = "board"
    for groups in (["board"], []):
        provider.knows("a1", **{**CLAIMS, "groups": groups})
        a_browser().sign_in("a1")

    alice.refresh_from_db()
    assert alice.is_superuser


def test_disconnecting_takes_a_password_to_come_back_with(
    provider: Provider, chrome: Browser, alice: User
) -> None:
    provider.knows("a1", **CLAIMS)
    chrome.sign_in("a1")
    connection = SocialAccount.objects.get()
    alice.set_unusable_password()
    alice.save()
    client = session_of(alice)

    client.post("/account/connections/", {"account": connection.pk})

    assert SocialAccount.objects.exists()
