"""The consent page's policy has the origin of a redirect URI: it is an origin, and no more."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.models import RegisteredClient
from acl.oauth._registration import (
    RegistrationRefused,
    check_redirect_uri,
    is_registered,
    origin_to_allow,
)
from tests.access.people import People
from tests.examples import EXAMPLES_OF_TEXTS
from tests.mcp.sdk_client import _settings_of_sign_in as _settings_of_sign_in
from tests.mcp.signing_in import browser, client_of, request_of

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
