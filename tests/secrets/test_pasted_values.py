"""Secrets as people paste them: what is stored is what the request needs, and no more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.models import Integration
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections.params import build_server, values_to_hide
from catalog.servers.secrets.sealed_values import UsedValues
from catalog.servers.secrets.store import UnsendableValueError, as_pasted
from tests.examples import EXAMPLES_OF_TEXTS

KEY = st.from_regex(r"[A-Za-z0-9_.~+/=-]{6,40}", fullmatch=True).filter(
    lambda key: "=" not in key[:-2]
)
BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "  \n"])


def api(scheme: dict[str, object]) -> Integration:
    security = {"main": {"secrets": ["KEY"], "about": "", **scheme}}
    return Integration(
        transport="openapi", endpoint="https://a.example", source_ref={"security": security}
    )


def server(**headers: str) -> Integration:
    more = {"headers": headers} if headers else {}
    return Integration(transport="http", endpoint="https://a.example/mcp", source_ref=more)


# Each place of a secret in a header: what people may paste before it, and what is to be stored.
PLACES: dict[str, tuple[Integration, tuple[str, ...], str]] = {
    "bearer of an api": (api({"as": "bearer"}), ("", "Bearer ", "Authorization: Bearer "), "{}"),
    "header of an api": (api({"as": "header", "name": "X-Key"}), ("", "X-Key: ", "x-key:"), "{}"),
    "bearer of a server": (
        server(Authorization="Bearer ${KEY}"),
        ("", "bearer ", "Authorization: Bearer ", "KEY="),
        "{}",
    ),
    "header of a server": (server(**{"X-Key": "${KEY}"}), ("", "X-Key: ", "export KEY="), "{}"),
    "whole authorization": (
        server(Authorization="${KEY}"),
        ("", "Bearer ", "Authorization: Bearer ", "authorization:Bearer "),
        "Bearer {}",
    ),
    "the only secret": (server(), ("", "Bearer ", "Authorization: Bearer "), "{}"),
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(key=KEY, before=BLANKS, after=BLANKS, data=st.data())
def test_key_is_stored_as_the_request_has_it(
    place: str, key: str, before: str, after: str, data: st.DataObject
) -> None:
    integration, forms, stored = PLACES[place]
    form = data.draw(st.sampled_from(forms))

    assert as_pasted(integration, "KEY", f"{before}{form}{key}{after}") == stored.format(key)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ["to\nken", "tok\x00en", "t\u20ackey", "a\r\nX-Admin: yes"])
def test_what_cannot_be_in_a_header_is_refused_when_it_is_set(place: str, text: str) -> None:
    with pytest.raises(UnsendableValueError):
        as_pasted(PLACES[place][0], "KEY", text)


@pytest.mark.parametrize("scheme", ["basic", "query", "cookie"])
def test_value_that_is_in_no_header_as_it_is_may_have_any_letters(scheme: str) -> None:
    assert as_pasted(api({"as": scheme, "name": "k"}), "KEY", "pässwört ☃\n") == "pässwört ☃"
    assert as_pasted(Integration(transport="stdio"), "KEY", "a\nb\n") == "a\nb"


def test_header_without_a_value_is_not_sent_and_a_setting_has_its_default() -> None:
    variables = [{"name": "region", "default": "eu", "secret": False, "required": False}]
    headers = {"X-Team": "${TEAM}", "X-Key": "${KEY}", "X-Fixed": "yes"}
    row = Integration(
        transport="http",
        endpoint="https://${region}.example/mcp",
        source_ref={"headers": headers, "variables": variables},
    )
    plain = build_server(row, values=UsedValues({"KEY": "k"}), signed_in=False)
    chosen = build_server(row, values=UsedValues({"KEY": "k", "region": "us"}), signed_in=False)

    assert isinstance(plain, HttpServer)
    assert isinstance(chosen, HttpServer)
    assert plain.headers == {"X-Key": "k", "X-Fixed": "yes"}
    assert (plain.url, chosen.url) == ("https://eu.example/mcp", "https://us.example/mcp")
    assert values_to_hide(row, {"region": "eu", "KEY": "k"}) == ["k"]
