"""Texts for the two arms: embedded texts, sparse words, and English glosses."""

import csv
import math
from datetime import date
from importlib.resources import files
from typing import Any

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import lexical
from catalog.embedding.texts import embedding_text, text_without_order
from discovery.select._glossary import (
    LANGUAGES,
    add_english,
    is_verb,
    language_of,
    tasks_in_words_of_tools,
)
from tests.ranking.conftest import Tool
from tests.ranking.tool_texts import MESSAGES


def test_text_has_name_parameters_description_and_use_cases() -> None:
    schema = {"properties": {"toAddress": {"type": "string"}, "subject": {}}}
    tool = Tool(tags=("mail", "notify"), input_schema=schema, required_tools=("gmail__login",))

    text = embedding_text(tool)

    assert text.splitlines() == [
        "send email (to address, subject): Sends a mail to someone. "
        "[gmail, communication, mail, notify, gmail login]",
        "Sends a mail to someone: send email (to address, subject)",
    ]


def test_text_leaves_out_schemas_content_and_secrets() -> None:
    schema = {"properties": {"key": {"description": "inner words", "default": "s3cret"}}}

    text = embedding_text(Tool(input_schema=schema))

    assert "inner words" not in text
    assert "s3cret" not in text


def test_category_that_was_worked_out_is_not_taken_for_declared() -> None:
    text = embedding_text(Tool(category="messaging", category_inferred=True))

    assert "messaging" not in text


def test_longest_text_stays_concise() -> None:
    schema: dict[str, Any] = {"properties": {f"parameter_{number}": {} for number in range(500)}}
    tool = Tool(
        action="a" * 500,
        description="word " * 5_000,
        tags=("tag",) * 500,
        examples=("word " * 500,) * 50,
        input_schema=schema,
    )

    readings = embedding_text(tool).splitlines()

    assert len(readings) == 10
    assert max(map(len, readings)) < 1_000


def test_what_people_say_is_a_reading_of_its_own() -> None:
    readings = embedding_text(Tool(examples=("write to\nAnna", " "))).splitlines()

    assert readings[2:] == ["write to Anna"]


def test_schema_that_is_no_object_has_no_parameters() -> None:
    text = embedding_text(Tool(input_schema={"properties": ["not", "a", "mapping"]}))

    assert text.startswith("send email:")


def test_text_keeps_the_order_of_parameters_and_its_hash_does_not() -> None:
    names = ("subject", "to", "cc", "été", "body")
    tools = [
        Tool(input_schema={"properties": {key: {} for key in order}})
        for order in (names, names[::-1])
    ]

    assert embedding_text(tools[0]).startswith("send email (subject, to, cc, été, body):")
    (text,) = {text_without_order(each) for each in tools}
    # By length in bytes, then by name: as jsonb returned keys, so that earlier hashes stay valid.
    assert text.startswith("send email (cc, to, body, été, subject):")


def test_hash_covers_the_names_that_a_cut_leaves_out() -> None:
    few: dict[str, dict] = {f"a_long_name_of_parameter_{number}": {} for number in range(10)}

    tools = [Tool(input_schema={"properties": few | {last * 40: {}}}) for last in "xy"]

    assert len({text_without_order(each) for each in tools}) == 2


def _score(message: str, tool: Tool) -> float:
    document = lexical.document_vector(tool)
    return sum(weight * document.get(i, 0.0) for i, weight in lexical.query_vector(message).items())


def test_words_are_split_stemmed_and_without_stop_words() -> None:
    assert lexical.words("please sendEmails_toTeam: the HTTPServer") == [
        "send",
        "email",
        "team",
        "http",
        "server",
    ]


def test_what_is_written_apart_or_together_is_one_word() -> None:
    assert lexical.words("log me into") == lexical.words("login") == ["login"]
    assert lexical.words("e-mails by Wi-Fi") == lexical.words("emails by wifi")
    assert lexical.words("logical in") == ["logic"]


def test_words_of_other_alphabets_are_kept() -> None:
    assert lexical.words("погода 天气") == ["погод", "天气"]


def test_rare_word_weighs_more_than_a_common_one() -> None:
    weights = {word: lexical.idf(lexical.term(word)) for word in ("data", "kubernet", "zzyzx")}

    assert weights["data"] < weights["kubernet"] < weights["zzyzx"]


def test_name_counts_twice() -> None:
    named, described = Tool("archive", "Does it."), Tool("do_it", "Does an archive.")

    assert _score("archive", named) > _score("archive", described)


def test_long_description_does_not_pay() -> None:
    short = Tool("report", "Writes a weather report.")
    stuffed = Tool("report", "Writes a weather report. " + "send email find file book " * 2_000)

    assert _score("weather report", short) > _score("weather report", stuffed)
    assert len(lexical.document_vector(stuffed)) < 100


def test_other_capabilities_do_not_move_a_score() -> None:
    before = _score("send a mail", Tool())

    lexical.document_vector(Tool("mail", "mail mail mail"))

    assert _score("send a mail", Tool()) == before


WORDS = st.lists(st.from_regex(r"[a-z]{4,8}", fullmatch=True), min_size=1, max_size=12).map(
    " ".join
)


@given(WORDS, st.lists(WORDS, min_size=2, max_size=8))
def test_examples_count_as_words_and_leave_the_tools_own_ones(
    description: str, examples: list[str]
) -> None:
    plain = lexical.document_vector(Tool("mail", description))
    one = lexical.document_vector(Tool("mail", description, examples=(examples[0],)))
    several = lexical.document_vector(Tool("mail", description, examples=tuple(examples)))

    assert plain.items() <= several.items()
    assert set(several) == set(plain) | lexical.terms(" ".join(examples)).keys()
    once = [index for index in one if examples.count(examples[0]) == 1 and index not in plain]
    repeated = lexical.terms(" ".join(examples[1:]))
    assert all(several[index] <= one[index] for index in once if index not in repeated)


def test_best_possible_score_is_never_exceeded() -> None:
    best = lexical.max_score(lexical.query_vector("weather report"))

    assert _score("weather report", Tool("weather_report", "weather report " * 30)) < best


def test_terms_saturate_as_in_the_reference() -> None:
    """The same order as bm25s on the same tokens, for documents of similar length."""
    texts = ["alpha beta gamma", "alpha alpha delta", "beta delta omega"]
    tools = [Tool(action="", integration="", description=text) for text in texts]
    reference = bm25s.BM25(k1=lexical.SATURATION, b=lexical.LENGTH_PENALTY)
    reference.index([lexical.words(text) for text in texts], show_progress=False)

    ours = [_score("alpha", tool) for tool in tools]
    theirs = reference.get_scores(lexical.words("alpha"))

    assert np.argsort(ours).tolist() == np.argsort(theirs).tolist()


def test_idf_is_that_of_the_fixed_background() -> None:
    background = lexical._background()
    index, seen = next(iter(background.counts.items()))

    expected = math.log(1 + (background.documents - seen + 0.5) / (seen + 0.5))

    assert lexical.idf(index) == expected


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Wie wird das Wetter morgen in Berlin?", "german"),
        ("Rappelle-moi d'acheter du lait", "french"),
        ("Envía un correo a mi jefe", "spanish"),
        ("Qual é a previsão do tempo para Lisboa?", "portuguese"),
        ("Cerca un parcheggio vicino a me", "italian"),
        ("Vertaal deze tekst naar het Engels", "dutch"),
        ("Schicke Anna eine Mail", "german"),
        ("Jaka jest pogoda w Gdańsku?", "polish"),
        ("Przypomnij Ani o spotkaniu", "polish"),
        ("open the file in my folder", ""),
        ("weather", ""),
        ("", ""),
    ],
)
def test_language_is_recognised(message: str, language: str) -> None:
    assert language_of(message) == language


def test_known_words_are_added_in_english() -> None:
    texts = add_english(("Schicke eine Mail und prüfe das Wetter", "Schicke eine Mail"))

    assert texts == (
        "Schicke eine Mail und prüfe das Wetter (send email check weather)",
        "Schicke eine Mail (send email)",
    )


def test_small_words_are_not_looked_up() -> None:
    assert add_english(("manda um e-mail para o contador",)) == (
        "manda um e-mail para o contador (send email accountant)",
    )


def test_what_is_quoted_does_not_make_a_message_foreign() -> None:
    message = 'what does "das ist mir nicht ganz klar" mean'

    assert add_english((message,)) == (message,)


@pytest.mark.parametrize(
    "message", [each for each in MESSAGES if "to-do" not in each and "%" not in each]
)
def test_english_stays_as_it_is(message: str) -> None:
    assert add_english((message,)) == (message,)


@pytest.mark.parametrize("verb", ["open", "Raise", "file", "submit", "log", "create"])
@pytest.mark.parametrize("ticket", ["a ticket", "new tickets", "the support ticket", "ticket"])
def test_ticket_that_is_opened_is_an_issue(verb: str, ticket: str) -> None:
    message = f"{verb} {ticket} for the printer"

    assert add_english((message,)) == (f"{message} (create an issue)",)


@pytest.mark.parametrize(
    ("message", "added"),
    [("book a ticket to Lyon", ""), ("what is on my to-do list?", " (tasks)"),
     ("make slides of it", " (presentation)"), ("file the ticketing report", "")],
)  # fmt: skip
def test_everyday_words_get_what_tools_call_them(message: str, added: str) -> None:
    assert add_english((message,)) == (message + added,)


@pytest.mark.parametrize("kept", ["wifi is hunter2", "call mum", "42"])
@pytest.mark.parametrize(
    "begin", ["note: ", "Note to self: ", "take a note ", "jot down a note: ", "remember: "]
)
def test_note_is_kept_whatever_it_says(begin: str, kept: str) -> None:
    assert tasks_in_words_of_tools(begin + kept) == ("create a note to remember",)
    assert tasks_in_words_of_tools(f"what does this {kept} note say") == ()


@given(
    st.integers(0, 99_999),
    st.sampled_from(["+", " + ", "*", " × ", "^", "**", " plus ", " divided by ", "% of "])  # noqa: RUF001
    | st.sampled_from([" % off ", " percent of ", " to the power of "]),
    st.integers(0, 99_999),
    st.sampled_from(["{}", "what is {}?", "({}) / 2", "how much is {}, please", "cube root of {}"]),
)
def test_sum_is_a_calculation(left: int, sign: str, right: int, around: str) -> None:
    message = around.format(f"{left:,}{sign}{right}")

    assert tasks_in_words_of_tools(message) == ("calculate an arithmetic expression",)


@pytest.mark.parametrize("sum_of", ["square root of {}", "{} squared", "{} cubed", "{} factorial"])
@given(st.integers(0, 99_999))
def test_function_of_a_number_is_a_calculation(sum_of: str, number: int) -> None:
    message = f"what's the {sum_of.format(number)}"

    assert tasks_in_words_of_tools(message) == ("calculate an arithmetic expression",)


@given(st.dates(), st.integers(1, 9), st.integers(1, 9))
def test_dates_ranges_and_telephones_are_no_calculation(day: date, few: int, more: int) -> None:
    for message in (
        f"{day} + {more} days", f"what's {day}", f"due {day:%d/%m}", f"meet {few}-{more} pm",
        f"pages {few} - {more}", f"call +{few} 555 123{more}", f"{few} of {more} people", "24/7",
        f"{few} percent off my order", "the square root of evil", f"{more} percent of people",
    ):  # fmt: skip
        assert tasks_in_words_of_tools(message) == ()


def test_verbs_of_other_languages_begin_a_task() -> None:
    assert all(map(is_verb, ("schicke", "Envoie", "busca", "stuur")))
    assert not is_verb("wetter")


def test_every_row_knows_every_language() -> None:
    with (files("discovery.select") / "glossary.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))

    assert len(rows) > 120
    assert all(row[language] for row in rows for language in LANGUAGES)
