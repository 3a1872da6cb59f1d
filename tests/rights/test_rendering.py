"""Rendering of arguments: typed, canonical everywhere, with nothing invisible and no lookalikes."""

import json
import re
import unicodedata
from typing import Any

import pytest
import regex
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from acl.keys.lifecycle import create_key
from acl.visible_text.canonical_json import render_arguments, text_of
from acl.visible_text.pieces import (
    is_combining,
    is_written_out,
    join_pieces,
    show_text,
    split_into_pieces,
)
from discovery.calls.arguments import digest_of, hash_of, is_unaltered, serialize_arguments
from discovery.models import Call
from tests.access.people import People
from tests.factories import UserFactory, waiting_call
from tests.sessions import session_of

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
nasty = st.lists(
    st.sampled_from(
        ['"', "'", "\n", "\t", "↵", "⇥", "│ ", "[", "]", "U+200B", "[U+200B ZERO WIDTH SPACE]", ": ", "- ",
         "\u200b", "\u2028", "а", "a", "\u0301", "e", "é", " ", "5", "null", "{}", "xn--80ak6aa92e", "[xn--",
         "×2", "object of 1 name", "empty list", "\\", "\ufe0f", "\u3164", "true"]
    ),
    max_size=8,
).map("".join)  # fmt: skip
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | nasty
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | nasty, inner, max_size=4),
    max_leaves=8,
)
arguments = st.dictionaries(texts | nasty, values, max_size=4)

# Ignored by renderers, by Unicode's property Default_Ignorable; some of each plane.
IGNORABLE = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(map(chr, range(0x110000))))


def shown(value: Any) -> str:
    return text_of(render_arguments(serialize_arguments(value)))


@given(arguments, arguments)
@example({"a": 5}, {"a": "5"})
@example({"a": ["b"]}, {"a": '["b"]'})
@example({"a": ""}, {"a": None})
@example({"a": 1}, {"a": 1.0})
@example({"a": True}, {"a": "true"})
@example({"a": {}}, {"a": []})
@example({"a": {}}, {"a": "empty object"})
@example({"a": 0.0}, {"a": -0.0})
@example({"a": "x\nb: 5"}, {"a": "x", "b": 5})
@example({"a": 'x"\nb: "y'}, {"a": "x", "b": "y"})
@example({'a b": "x': "y"}, {"a b": 'x": "y'})
@example({"a": [1, 2]}, {"a": "[1, 2]"})
@example({"a": [[1], [2]]}, {"a": [[1, 2]]})
@example({"a": "\u200b"}, {"a": "[U+200B ZERO WIDTH SPACE]"})
@example({"a": "\u200b\u200b"}, {"a": "\u200b ×2"})
@example({"a": "а"}, {"a": "[U+0430 CYRILLIC SMALL LETTER A]"})
@example({"a": "↵\n"}, {"a": "\n\n"})
@example({"a": "e\u0301"}, {"a": "é"})
def test_arguments_that_differ_are_rendered_differently(one: Any, other: Any) -> None:
    assert (shown(one) == shown(other)) == (serialize_arguments(one) == serialize_arguments(other))


@given(texts | nasty, st.sampled_from(IGNORABLE), st.integers(0, 12))
def test_no_character_that_is_ignored_can_be_slipped_in(text: str, ignored: str, at: int) -> None:
    inserted = text[:at] + ignored + text[at:]

    assert show_text(inserted) != show_text(text)
    assert f"U+{ord(ignored):04X}" in show_text(inserted)
    assert ignored not in show_text(inserted)


@pytest.mark.long
def test_every_code_point_is_visible_or_named() -> None:
    """Checks all 1,114,112 code points.

    Those that stand for themselves have a visible shape: an assigned letter, digit, punctuation,
    symbol or combining mark that is not ignorable.
    """
    shapeless = regex.compile(
        r"[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\p{White_Space}\p{Bidi_Control}"
        r"\p{Variation_Selector}\p{Noncharacter_Code_Point}]"
    )
    wrong, drawn = [], []
    for code in range(0x110000):
        character = chr(code)
        if shapeless.match(character) and character != " " and not is_written_out(character):
            wrong.append(hex(code))
        # Some of the hundred thousand ideographs and of the empty planes are enough.
        if unicodedata.category(character) not in {"Cn", "Co", "Lo"} or code % 61 == 0:
            drawn.append(character)
    for first in range(0, len(drawn), 4096):
        characters = [one for one in drawn[first : first + 4096] if one not in " \n\t"]
        seen = show_text("\n".join(f"x{one}x" for one in characters)).split("↵\n")
        for one, line in zip(characters, seen, strict=True):
            raw = line == f"x{one}x" and not shapeless.match(one)
            if not raw and f"[U+{ord(one):04X}" not in line:
                wrong.append(hex(ord(one)))
    assert wrong == []


@pytest.mark.parametrize(
    "character",
    ["\ufe00", "\ufe0f", "\U000e0100", "\U000e01ef", "\u034f", "\u3164", "\u115f", "\u1160", "\uffa0",
     "\u2800", "\u17b4", "\u17b5", "\u180b", "\u180f", "\u2028", "\u2029", "\xa0", "\u2000", "\u200a",
     "\u202f", "\u205f", "\u3000", "\u1680", "\U0001d159", "\u061c", "\u200e", "\u202e", "\u2066",
     "\U000e0041", "\ufff9", "\xad", "\ufeff", "\u2060", "\u206a", "\ufffc", "\ue000", "\x85", "\x1b",
     "\U0010ffff", "\U000f0000", "\u0378", "\u037e", "\u212a", "\x7f", "\r"],
)  # fmt: skip
def test_what_nobody_sees_is_named(character: str) -> None:
    assert f"[U+{ord(character):04X} " in show_text(f"a{character}b")
    assert character not in show_text(f"a{character}b")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\u0301abc", "[U+0301 COMBINING ACUTE ACCENT]abc"),
        ("a \u0301", "a [U+0301 COMBINING ACUTE ACCENT]"),
        ("q\u0307\u0323\u0331\u0332", "q[U+0307 COMBINING DOT ABOVE]"),
        ("e\u0301", "e[U+0301 COMBINING ACUTE ACCENT]"),
        ("a" + "\u200b" * 1000, "a[U+200B ZERO WIDTH SPACE ×1000]"),
    ],
)
def test_marks_that_are_drawn_on_nothing_or_in_heaps_are_named(text: str, seen: str) -> None:
    if text.startswith("q"):
        assert "[U+0332 COMBINING LOW LINE]" in show_text(text)
    else:
        assert show_text(text) == seen


DISGUISES = [
    ("раураl.com", "CYRILLIC"),
    ("аpple.com", "[U+0430 CYRILLIC SMALL LETTER A]pple.com"),
    ("pay раура today", "CYRILLIC раура]"),
    ("billing@сора.com", "CYRILLIC сора]"),
    ("https://gооgle.com/login", "CYRILLIC оо]"),
    ("/home/аdmin/.ssh", "[U+0430 CYRILLIC"),
    ("user_сс", "CYRILLIC сс]"),
    ("Αdmin", "[U+0391 GREEK CAPITAL LETTER ALPHA]"),
    ("miсrosoft", "[U+0441 CYRILLIC SMALL LETTER ES]"),
    ("gօօgle", "ARMENIAN"),
    ("ＰａｙＰａｌ", "[U+FF30 "),
    ("𝐩𝐚𝐲𝐩𝐚𝐥", "[U+1D429 "),
    ("pɑypal", "[U+0251 LATIN SMALL LETTER ALPHA]"),
    ("google․com", "[U+2024 ONE DOT LEADER]"),
    ("google.com⁄login", "[U+2044 FRACTION SLASH]"),
    ("g00gle۰.com", "[U+06F0 "),
    ("৪০০", "BENGALI"),
    ("1٢3", "[U+0662 ARABIC-INDIC DIGIT TWO]"),
    ("xn--80ak6aa92e.com", "[xn-- stands for аррӏе in CYRILLIC]"),
    ("XN--pypal-4ve.com", "[xn-- stands for pаypal in CYRILLIC and LATIN]"),
    ("xn--99999999999", "[xn-- does not decode to a name]"),
    ("Привет! Pay раура now", "CYRILLIC раура]"),
]


@pytest.mark.parametrize(("text", "mark"), DISGUISES)
def test_letters_of_another_script_are_pointed_out(text: str, mark: str) -> None:
    assert mark in show_text(text)


ORDINARY = """
Привет! Как дела? Мы завтра будем в Москве, а потом поедем на дачу.
Он сказал: «Да, конечно», и ушёл. Сервер MCP с Redis и Postgres уже работает, т.е. готов.
Отправь отчёт за 3-й квартал коллегам из IT-отдела до 17:30, г.Москва, он/она.
Україна має чудові міста: Київ, Львів, Одеса.
Здравейте, как сте? Поздрави от София.
Καλημέρα, πώς είστε; Το API είναι έτοιμο και λειτουργεί.
Η Αθήνα είναι η πρωτεύουσα της Ελλάδας, με 3 εκατομμύρια κατοίκους.
東京で会議があります。明日のAPIレビューはWeb会議で行います。
ノートパソコンのバッテリーをTシャツと一緒に送ってください。
今天的会议改到下午三点,请通知所有人参加。
我们使用Python和PostgreSQL开发这个系统。
안녕하세요, 내일 API 회의가 있습니다. 이메일을 보내 주세요.
مرحبا، الاجتماع غدا في الساعة ١٠ مع فريق API الجديد.
שלום, הפגישה מחר בשעה 10 עם צוות ה-API.
नमस्ते, कल API की बैठक है।
สวัสดีครับ พรุ่งนี้มีประชุมAPIได้ดี
Đây là một câu tiếng Việt với nhiều dấu: Nguyễn Thị Hường.
Le café est très bon, n’est-ce pas ? Où êtes-vous allés ?
Größe, Übermaß, Straße, naïve, Ærø, Łódź, Žižek, İstanbul, ısı, Þingvellir, œuvre.
“Quoted” – and — dashed… 5–6 °C, 3 × 4 = 12, ½ €, £5, §7, ™, ©, №, •, →.
Send it to bob@example.com or see https://example.com/a_b?c=d#e, C:\\Users\\bob.
5 μm, Δt = 3 s, 10 kΩ, πr².
"""


@pytest.mark.parametrize("line", ORDINARY.replace("\xa0", " ").strip().splitlines())
def test_ordinary_sentences_have_no_marks(line: str) -> None:
    line = unicodedata.normalize("NFC", line)

    assert [piece for piece in split_into_pieces(line) if piece.kind != "plain"] == []


@given(texts | nasty)
def test_a_text_cannot_imitate_a_mark(text: str) -> None:
    plain = "".join(piece.text for piece in split_into_pieces(text) if piece.kind == "plain")

    assert not re.search(r"\[(U\+|xn--)", plain, re.IGNORECASE)
    assert show_text(text) == join_pieces(split_into_pieces(text))


def test_types_are_told_apart_at_a_glance() -> None:
    assert shown(
        {"a": 5, "b": "5", "c": ["a"], "d": '["a"]', "e": "", "f": None, "g": [1, 2.0], "h": True,
         "i": "true", "j": {}, "k": [], "a b": {"x": 'say "hi"'}}
    ) == "\n".join([
        "a: 5", 'b: "5"', "c: list of 1 item", '  - "a"', 'd: "["a"]"', 'e: ""', "f: null",
        "g: [1, 2.0]", "h: true", 'i: "true"', "j: empty object", "k: empty list",
        '"a b": object of 1 name', '  x: "say "hi""',
    ])  # fmt: skip


def test_characters_of_every_kind_are_looked_up_once() -> None:
    assert [is_written_out(one) for one in "a \u200bé\u0301"] == [False, False, True, False, False]
    assert [is_combining(one) for one in "a\u0301"] == [False, True]
    assert json.loads('"\\u200b"') == "\u200b"


def ask(people: People, arguments: Any, **fields: Any) -> Call:
    call = waiting_call(people.alice, people.support, people.send, "x")
    text = arguments if isinstance(arguments, str) else serialize_arguments(arguments)
    hashed = {} if isinstance(arguments, str) else {"arguments_hash": hash_of(arguments)}
    Call.objects.filter(pk=call.pk).update(arguments_json=text, **hashed, **fields)
    call.refresh_from_db()
    return call


def admin_of(people: People) -> Client:
    return session_of(UserFactory.create(username="root", is_staff=True, groups=[people.support]))


@pytest.mark.parametrize(
    ("before", "after"), [('{"a":1}', '{"a":1.0}'), ('{"a":1,"b":2}', '{"b":2,"a":1}')]
)
def test_an_approval_is_bound_to_the_text_that_was_rendered(
    people: People, before: str, after: str
) -> None:
    call = ask(people, json.loads(before))
    digest = digest_of(call)
    Call.objects.filter(pk=call.pk).update(approved_digest=digest, arguments_json=after)
    call.refresh_from_db()

    assert digest_of(call) != digest
    assert not is_unaltered(call)


BAD = ['{"a": Infinity}', '{"a": NaN}', "[1]", '{"a": 1e999}', "not json", "", '{"a":1,"a":2}',
       '{"a":' * 100 + "1" + "}" * 100, '"x"', '{"a": "\\ud800"}', "9" * 5000]  # fmt: skip


def test_rows_that_cannot_be_displayed_hide_no_other_and_can_be_rejected(people: People) -> None:
    good, broken = ask(people, {"text": "fine"}), [ask(people, bad) for bad in BAD]
    client = admin_of(people)
    _, key = create_key(by=None, name="admins", group=people.support, scopes=["admin"])
    headers = {"Authorization": f"Bearer {key}"}

    listed = client.get("/api/v1/approvals")
    by_key = client.get("/api/v1/approvals", headers=headers)

    assert client.get("/approvals/").status_code == 200
    for answer in (listed, by_key):
        items = {one["id"]: one for one in answer.json()["items"]}
        assert items[str(good.pk)]["arguments"] == {"text": "fine"}
        for call in broken:
            assert items[str(call.pk)]["arguments"] is None
            assert "cannot be displayed" in items[str(call.pk)]["unreadable"]
    for call in broken:
        page = client.get(f"/approvals/{call.pk}/")
        yes = client.post(f"/approvals/{call.pk}/", {"approve": "1", "digest": digest_of(call)})
        no = client.post(f"/approvals/{call.pk}/", {"reject": "1", "note": "broken"})

        assert "This call cannot be displayed" in page.content.decode()
        assert "Approve call" not in page.content.decode()
        assert (yes.status_code, no.status_code) == (409, 302), call.arguments_json
        assert not is_unaltered(call)


def test_difference_to_the_last_approved_call_is_for_those_who_decide(people: People) -> None:
    first = ask(people, {"to": "bob", "text": "hi", "cc": "dora"})
    client = admin_of(people)
    alone = client.get(f"/approvals/{first.pk}/").content.decode()
    client.post(f"/approvals/{first.pk}/", {"approve": "1", "digest": digest_of(first)})
    second = ask(people, {"to": "bоb", "text": "hi", "bcc": 5})
    owner = session_of(people.alice)

    page = client.get(f"/approvals/{second.pk}/").content.decode()
    told = client.get(f"/api/v1/approvals/{second.pk}").json()["compared"]
    own = owner.get(f"/approvals/{second.pk}/").content.decode()

    assert "No call of this tool has been approved" in alone
    assert {one["name"]: one["change"] for one in told["arguments"]} == {
        "to": "changed", "text": "equal", "bcc": "new", "cc": "gone",
    }  # fmt: skip
    assert told["id"] == str(first.pk)
    assert [word in page for word in ("changed", "unchanged", "removed")] == [True] * 3
    assert "dora" in page
    assert "dora" not in own
    assert "[U+043E CYRILLIC SMALL LETTER O]" in page


def test_a_call_of_another_group_is_no_example(people: People) -> None:
    call = waiting_call(people.charlie, people.finance, people.send, "theirs")
    client = admin_of(people)
    client.post(f"/approvals/{call.pk}/", {"approve": "1", "digest": digest_of(call)})
    own = ask(people, {"text": "ours"})

    assert "theirs" not in client.get(f"/approvals/{own.pk}/").content.decode()
