"""Kinds of channels: each file of their package is one, and no other kind is ever sent."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils.translation import override

from acl.platform.open_registry import modules_of
from marketplace.models import NotificationChannel
from marketplace.notifications import kinds
from marketplace.notifications.channels import ChannelRefused, NewChannel, add_channel, send_test
from marketplace.notifications.kinds.base import Message
from marketplace.notifications.kinds.registry import ADDRESS_KINDS, KINDS, label_kind
from marketplace.notifications.tasks import deliver
from tests.notifications.conftest import Receiver

MESSAGE = Message(
    title="<b>&</b> *Call*", text="line\n" * 900, url="https://pegboard.example/x", topic="alerts"
)


def test_each_file_is_a_kind_with_a_label_in_each_language() -> None:
    files = {path.stem for path in Path(kinds.__path__[0]).glob("*.py")}

    assert set(KINDS) == files - {"__init__", "base", "registry"}
    for language in ("en", "de", "es"):
        with override(language):
            assert all(label_kind(name) for name in KINDS)


def test_a_new_file_is_a_new_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "made_up_kinds"
    folder.mkdir()
    for name in ("__init__", "base", "registry", "_private", "pigeon", "matrix"):
        (folder / f"{name}.py").write_text(f"LABEL = {name!r}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    members = modules_of("made_up_kinds")

    assert {name: module.LABEL for name, module in members.items()} == {
        "matrix": "matrix",
        "pigeon": "pigeon",
    }


@pytest.mark.parametrize("name", ADDRESS_KINDS)
def test_body_is_json_with_the_title_and_the_link(name: str) -> None:
    text = json.dumps(ADDRESS_KINDS[name].body(MESSAGE))

    assert json.loads(text)
    assert "Call" in text
    assert MESSAGE.url in text


def test_docs_say_of_each_kind_what_its_address_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text("utf-8")

    assert all(f"| {kind.LABEL} |" in page for kind in KINDS.values())


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name, kind in ADDRESS_KINDS.items() if kind.QUERY])
def test_address_without_a_parameter_is_refused(name: str, admin: User, receiver: Receiver) -> None:
    for parameter in ADDRESS_KINDS[name].QUERY:
        values = NewChannel(name, ["alerts"], "https://a.example/", address=receiver.url)
        with pytest.raises(ChannelRefused, match=f"no parameter {parameter}"):
            add_channel(by=admin, values=values)


@pytest.mark.django_db
def test_telegram_gets_the_chat_with_the_address_and_the_text_in_the_body(
    admin: User, receiver: Receiver
) -> None:
    address = f"{receiver.url.partition('/hook')[0]}/bot123:secret/sendMessage?chat_id=-100"
    values = NewChannel("telegram", ["alerts"], "https://a.example/", address=address)
    channel, secret = add_channel(by=admin, values=values)

    for receiver.status in (400, 200):
        deliver(send_test(channel=channel).pk)

    assert receiver.paths == ["/bot123:secret/sendMessage?chat_id=-100"] * 2
    assert [row.state for row in channel.deliveries.order_by("pk")] == ["failed", "delivered"]
    assert (secret, "secret" in str(list(channel.deliveries.values()))) == ("", False)
    sent = json.loads(receiver.bodies[1])
    assert sent["text"].startswith("Test from Pegboard\n")
    assert sent["text"].endswith("\nhttps://a.example/today/")
    assert "parse_mode" not in sent  # strangers' words are plain text
    longest = ADDRESS_KINDS["telegram"].body(MESSAGE)["text"]
    assert len(longest) <= 4_096  # the API's limit


@pytest.mark.django_db
def test_unknown_kind_is_refused_and_one_of_a_later_version_is_not_sent(
    admin: User, receiver: Receiver
) -> None:
    with pytest.raises(ChannelRefused, match="no such kind"):
        add_channel(by=admin, values=NewChannel("pigeon", ["alerts"], "https://a.example/"))
    values = NewChannel("teams", ["alerts"], "https://a.example/", address=receiver.url)
    channel, _ = add_channel(by=admin, values=values)
    NotificationChannel.objects.filter(pk=channel.pk).update(kind="pigeon")
    channel.refresh_from_db()

    deliver(send_test(channel=channel).pk)

    row = channel.deliveries.get()
    assert (row.state, receiver.bodies) == ("failed", [])
    assert "no channels of pigeon" in row.message
    assert label_kind(channel.kind) == "pigeon"
