"""The secrets broker and its envelopes, and secrets as people paste them."""

import json
import os
import signal
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.models import Integration, OAuthConnection, OAuthRevocation, OAuthSignIn, Secret
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections.params import build_server, values_to_hide
from catalog.servers.secrets.encryption_keys import (
    CannotOpenError,
    OtherPurposeError,
    SecretUnavailableError,
    open_value,
    public_text,
    publish_sealing_key,
    seal_value,
)
from catalog.servers.secrets.sealed_values import SealedValue, UsedValues, seal, unseal, values_for
from catalog.servers.secrets.store import UnsendableValueError, as_pasted
from discovery.models import Call
from marketplace.management.commands import broker as broker_command
from marketplace.models import Installation
from marketplace.operate import secret_broker as server
from marketplace.operate.secret_broker import RequestWindow, SecretBroker, may_open
from tests.examples import EXAMPLES_OF_TEXTS
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, waiting_call

KEY = Fernet.generate_key().decode()
PURPOSE = "1/all/TOKEN"


@pytest.fixture
def start(settings: Settings, tmp_path: Path) -> Iterator[Callable[..., SecretBroker]]:
    """Starts a broker; this process has the public half of its key only."""
    settings.PEGBOARD_BROKER = str(tmp_path / "socket")
    settings.PEGBOARD_SEALING_KEY = str(tmp_path / "sealing_key")
    settings.PEGBOARD_ENCRYPTION_KEYS, settings.PEGBOARD_DATA_DIR = (), tmp_path
    publish_sealing_key(tmp_path / "sealing_key", KEY)
    started: list[SecretBroker] = []

    def start_broker(*, supervisor: int | None = None) -> SecretBroker:
        broker = SecretBroker(tmp_path / "socket", supervisor=supervisor)
        started.append(broker)
        threading.Thread(target=broker.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return broker

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "may_open", lambda purpose: purpose != "9/all/TOKEN")
        patch.setattr(server, "opening_keys", lambda: (KEY,))
        yield start_broker
    for broker in started:
        broker.shutdown()
        broker.server_close()


@pytest.mark.parametrize("supervisor", [None, os.getppid()])
def test_process_without_keys_seals_and_has_the_broker_open(
    start: Callable[..., SecretBroker], supervisor: int | None
) -> None:
    start(supervisor=supervisor)

    sealed = seal("päss\nword", purpose=PURPOSE)

    assert unseal(sealed, purpose=PURPOSE) == "päss\nword"


def test_it_answers_no_process_that_the_supervisor_did_not_start(
    start: Callable[..., SecretBroker],
) -> None:
    start(supervisor=os.getpid())  # our parent is another one

    with pytest.raises(SecretUnavailableError, match="does not respond"):
        unseal(seal("x", purpose=PURPOSE), purpose=PURPOSE)


def test_what_nothing_needs_or_nobody_can_read_stays_closed(
    start: Callable[..., SecretBroker],
) -> None:
    start()
    other = Fernet(Fernet.generate_key()).encrypt(b"[]")

    for sealed, purpose, words in (
        (seal("x", purpose="9/all/TOKEN"), "9/all/TOKEN", "no call or connection"),
        (seal("x", purpose="2/all/TOKEN"), PURPOSE, "for another use"),
        (other, PURPOSE, "no longer exists"),
    ):
        with pytest.raises(SecretUnavailableError, match=words):
            unseal(sealed, purpose=purpose)


def test_many_connections_in_a_minute_are_refused(
    start: Callable[..., SecretBroker], settings: Settings
) -> None:
    settings.PEGBOARD_BROKER_CONNECTIONS = 2
    start()

    for number in (1, 2, 1, 2):
        purpose = f"{number}/all/TOKEN"
        assert unseal(seal("x", purpose=purpose), purpose=purpose) == "x"
    with pytest.raises(SecretUnavailableError, match="too many"):
        unseal(seal("x", purpose="3/all/TOKEN"), purpose="3/all/TOKEN")


def test_nonsense_is_refused_and_the_next_question_is_answered(
    start: Callable[..., SecretBroker],
) -> None:
    broker = start()
    noise = ["{}", "[]", "x", '{"open": [{}]}', '{"open": [{"purpose": "1", "sealed": "?"}]}']

    for line in noise:
        assert "refusal" in _ask(broker, line)
    good = b64encode(seal("x", purpose=PURPOSE)).decode()
    question = f'{{"open": [{{"purpose": "{PURPOSE}", "sealed": "{good}"}}]}}'
    assert _ask(broker, question) == '{"values": ["x"]}\n'


def _ask(broker: SecretBroker, line: str) -> str:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(10)
        channel.connect(str(broker.server_address))
        with channel.makefile("rw") as stream:
            stream.write(f"{line}\n")
            stream.flush()
            return stream.readline()


def test_no_broker_is_an_error_in_words(
    start: Callable[..., SecretBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.servers.secrets.sealed_values._RECONNECT_SECONDS", 0)

    with pytest.raises(SecretUnavailableError, match="does not respond"):
        unseal(seal("x", purpose=PURPOSE), purpose=PURPOSE)


def test_a_minute_later_others_have_their_turn() -> None:
    clock = [0.0]
    window = RequestWindow(1, now=lambda: clock[0])

    told = [window.admit("a"), window.admit("a"), window.admit("b")]
    clock[0] = 61.0

    assert [*told, window.admit("b")] == [(True, True), (True, False), (False, False), (True, True)]


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory.create(username="alice")


@pytest.fixture
def mail(db: None) -> Integration:
    return IntegrationFactory.create(slug="mail", own_secrets=True)


def test_shared_secrets_open_for_what_is_enabled_or_being_installed(mail: Integration) -> None:
    purpose = Secret(integration=mail, name="TOKEN").purpose
    rows = Integration.objects.filter(pk=mail.pk)

    told = [may_open(purpose)]
    rows.update(enabled=False)
    told.append(may_open(purpose))
    Installation.objects.create(integration=mail, state=Installation.State.CONNECTING)
    told.append(may_open(purpose))
    rows.update(unconfirmed=True)
    told.append(may_open(purpose))

    assert told == [True, False, True, False]
    assert not may_open("999999/all/TOKEN")


def test_personal_secrets_open_during_their_owners_calls(mail: Integration, alice: User) -> None:
    bob = UserFactory.create(username="bob")
    group = alice.groups.create(name="Support")
    call = waiting_call(alice, group, CapabilityFactory.create(integration=mail), "hi")
    Call.objects.update(needs_approval=False)
    purpose = Secret(integration=mail, user=alice, name="TOKEN").purpose

    def told(**changes: object) -> bool:
        Call.objects.filter(pk=call.pk).update(**changes)
        return may_open(purpose)

    assert not told()
    assert told(state=Call.State.RUNNING)
    assert not may_open(Secret(integration=mail, user=bob, name="TOKEN").purpose)
    assert not may_open(Secret(integration_id=mail.pk + 1, user=alice, name="TOKEN").purpose)
    assert not told(state=Call.State.WAITING)
    assert told(state=Call.State.QUEUED)
    Integration.objects.update(own_secrets=False)
    assert not may_open(purpose)


def test_personal_tokens_open_also_for_their_renewal(mail: Integration, alice: User) -> None:
    purpose = Secret(integration=mail, user=alice, name="oauth:token").purpose
    account = OAuthConnection.objects.create(
        integration=mail, user=alice, can_refresh=True, expires_at=timezone.now()
    )

    told = [may_open(purpose), may_open(purpose.replace("oauth:token", "TOKEN"))]
    account.expires_at = timezone.now() + timedelta(hours=1)
    account.save()

    assert [*told, may_open(purpose)] == [True, False, False]


def test_codes_open_while_a_sign_in_finishes_and_old_tokens_to_be_revoked(
    mail: Integration, alice: User
) -> None:
    begun = OAuthSignIn.objects.create(integration=mail, by=alice, ticket_digest="x")

    told = [may_open(begun.purpose)]
    OAuthSignIn.objects.update(state=OAuthSignIn.State.FINISHING)
    told.append(may_open(begun.purpose))
    gone = f"{mail.pk + 1}/{alice.pk}/oauth:token"
    told.append(may_open(gone))
    OAuthRevocation.objects.create(endpoint="https://a.example/", token_purpose=gone)
    told.append(may_open(gone))

    assert told == [False, True, False, True]
    assert not any(map(may_open, ["", "1", "1/2", "sign-in/1", "1/all/", "x/all/TOKEN"]))


@pytest.mark.django_db
def test_secrets_of_a_connection_are_asked_for_at_once(
    mail: Integration, start: Callable[..., SecretBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOKEN", "PASSWORD"):
        row = Secret(integration=mail, name=name)
        row.sealed = seal(name.lower(), purpose=row.purpose)
        row.save()
    broker = start()
    asked: list[int] = []

    def count(values: Sequence[SealedValue]) -> dict[str, object]:
        asked.append(len(values))
        return {"values": ["a", "b"]}

    monkeypatch.setattr(broker, "open_all", count)

    assert values_for(mail) == {"PASSWORD": "a", "TOKEN": "b"}
    assert asked == [2]


def test_command_only_publishes_the_public_key_or_serves_until_it_is_told_to_end(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_SEALING_KEY = str(tmp_path / "sealing_key")
    settings.PEGBOARD_ENCRYPTION_KEYS, settings.PEGBOARD_BROKER = (KEY,), ""
    monkeypatch.setattr(broker_command, "_hide_memory", lambda: None)
    monkeypatch.setattr(
        broker_command, "serve", lambda *_, **__: signal.raise_signal(signal.SIGTERM)
    )
    before = signal.getsignal(signal.SIGTERM)

    call_command("broker", "--publish")
    settings.PEGBOARD_BROKER = str(tmp_path / "socket")
    try:
        with pytest.raises(SystemExit) as ended:
            call_command("broker")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (tmp_path / "sealing_key").read_text().strip() == public_text(KEY)
    assert ended.value.code == 0


OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def test_public_half_seals_and_only_its_key_opens() -> None:
    sealed = seal_value("päss\nword", purpose="1/all/TOKEN", public=public_text(OLD))

    assert open_value(sealed, purpose="1/all/TOKEN", keys=(NEW, OLD)) == "päss\nword"
    for keys in ((NEW,), ()):
        with pytest.raises(CannotOpenError):
            open_value(sealed, purpose="1/all/TOKEN", keys=keys)
    with pytest.raises(OtherPurposeError):
        open_value(sealed, purpose="2/all/TOKEN", keys=(OLD,))
    assert seal_value("x", purpose="y", public=public_text(OLD)) != seal_value(
        "x", purpose="y", public=public_text(OLD)
    )


@pytest.mark.parametrize("place", [0, 3, 20, -1])
def test_changed_bytes_do_not_open(place: int) -> None:
    sealed = bytearray(seal_value("x", purpose="y", public=public_text(OLD)))
    sealed[place] ^= 1

    with pytest.raises(CannotOpenError):
        open_value(bytes(sealed), purpose="y", keys=(OLD,))


def test_values_of_earlier_releases_still_open() -> None:
    token = Fernet(OLD).encrypt(json.dumps(["1/all/TOKEN", "kept"]).encode())

    assert open_value(token, purpose="1/all/TOKEN", keys=(NEW, OLD)) == "kept"
    with pytest.raises(CannotOpenError):
        open_value(token, purpose="1/all/TOKEN", keys=(NEW,))


PASTED_KEY = st.from_regex(r"[A-Za-z0-9_.~+/=-]{6,40}", fullmatch=True).filter(
    lambda key: "=" not in key[:-2]
)
BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "  \n", "\ufeff", "\u200b ", "\u00a0"])
# What is around a key in a page, a command or a file.
AROUND_KEYS = st.sampled_from(
    ["{}", '"{}"', "'{}'", "`{}`", "\u201c{}\u201d", '-H "{}"', "--header '{}'", '"{}",']
)


def api(scheme: dict[str, object]) -> Integration:
    security = {"main": {"secrets": ["KEY"], "about": "", **scheme}}
    return Integration(
        transport="openapi", endpoint="https://a.example", source_ref={"security": security}
    )


def server_of_pasted_values(**headers: str) -> Integration:
    more = {"headers": headers} if headers else {}
    return Integration(transport="http", endpoint="https://a.example/mcp", source_ref=more)


# Each place of a secret in a header: what people may paste before it, and what is to be stored.
PLACES: dict[str, tuple[Integration, tuple[str, ...], str]] = {
    "bearer of an api": (api({"as": "bearer"}), ("", "Bearer ", "Authorization: Bearer "), "{}"),
    "header of an api": (api({"as": "header", "name": "X-Key"}), ("", "X-Key: ", "x-key:"), "{}"),
    "bearer of a server": (
        server_of_pasted_values(Authorization="Bearer ${KEY}"),
        ("", "bearer ", "Authorization: Bearer ", "KEY="),
        "{}",
    ),
    "header of a server": (
        server_of_pasted_values(**{"X-Key": "${KEY}"}),
        ("", "X-Key: ", "export KEY="),
        "{}",
    ),
    "whole authorization": (
        server_of_pasted_values(Authorization="${KEY}"),
        ("", "Bearer ", "Authorization: Bearer ", "authorization:Bearer "),
        "Bearer {}",
    ),
    "the only secret": (server_of_pasted_values(), ("", "Bearer ", "Authorization: Bearer "), "{}"),
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(key=PASTED_KEY, before=BLANKS, after=BLANKS, around=AROUND_KEYS, data=st.data())
def test_key_is_stored_as_the_request_has_it(
    place: str, key: str, before: str, after: str, around: str, data: st.DataObject
) -> None:
    integration, forms, stored = PLACES[place]
    form = data.draw(st.sampled_from(forms))
    text = around.format(f"{form}{key}") if "KEY=" not in form else f"{form}{around.format(key)}"

    assert as_pasted(integration, "KEY", f"{before}{text}{after}") == stored.format(key)


@pytest.mark.parametrize(
    "text",
    [
        *('{"Authorization": "Bearer k-1234"}', '"authorization" : "Bearer k-1234",'),
        *("Authorization: 'Bearer k-1234'", '$env:KEY="k-1234"', "set KEY=k-1234"),
    ],
)
def test_key_within_a_line_of_a_file_is_the_key(text: str) -> None:
    assert as_pasted(PLACES["bearer of a server"][0], "KEY", text) == "k-1234"


def test_quotes_that_may_be_of_the_secret_stay() -> None:
    assert as_pasted(Integration(transport="stdio"), "KEY", '"pass word"') == '"pass word"'
    assert as_pasted(Integration(transport="stdio"), "KEY", 'KEY="pass word"') == "pass word"
    account = '{"type": "service_account", "key": "a"}'
    assert as_pasted(Integration(transport="stdio"), "KEY", f"KEY={account}") == account
    assert as_pasted(Integration(transport="stdio"), "KEY", account) == account


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
