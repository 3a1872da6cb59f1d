"""Reading of messages: tasks, follow-ups, small talk, spelling, and what names nothing."""

import json
import random
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select import example_texts
from discovery.select._glossary import add_english, is_foreign
from discovery.select.example_texts import (
    digest_of,
    embed_examples,
    read_abilities,
    read_vectors,
    write_vectors,
)
from discovery.select.judgements import chance_of_small_talk, is_small_talk, read_small_talk
from discovery.select.message import (
    MOST_CLAUSES,
    READ_OF_LONG,
    correct,
    in_context,
    is_vague,
    read,
    shorten,
    split,
)
from marketplace.offers.kinds.starter import FOLDER
from tests.ranking.tool_texts import MESSAGES


@pytest.mark.parametrize(
    ("message", "clauses"),
    [
        ("post this to Slack and mail the team", ["post this to Slack", "mail the team"]),
        (
            "Book a flight to Rome, then remind me tomorrow",
            ["Book a flight to Rome", "remind me tomorrow"],
        ),
        (
            "What's the weather in Oslo? Play some jazz music.",
            ["What's the weather in Oslo", "Play some jazz music"],
        ),
        (
            "Schicke eine Mail an Anna und erstelle eine Aufgabe für morgen",
            ["Schicke eine Mail an Anna", "erstelle eine Aufgabe für morgen"],
        ),
        (
            "Envoie un message à Paul et réserve une table pour demain",
            ["Envoie un message à Paul", "réserve une table pour demain"],
        ),
        ("打开日历文件。发送邮件给团队", ["打开日历文件", "发送邮件给团队"]),
    ],
)
def test_message_is_cut_between_its_tasks(message: str, clauses: list[str]) -> None:
    assert split(message) == clauses


@pytest.mark.parametrize(
    "message",
    ["", "hello", "find music and films for tonight", "weather in Paris, France", "a, b, c and d"],
)
def test_what_only_lists_things_is_not_split(message: str) -> None:
    assert split(message) == []


def test_remark_about_the_message_is_no_clause() -> None:
    assert split("I need the quarterly sales report as a file. Can you help me with that?") == []


def test_number_of_clauses_is_bounded_and_nothing_is_lost() -> None:
    tasks = [f"send report number{place} to customer{place}" for place in range(40)]

    clauses = split(" and ".join(tasks))

    assert len(clauses) == MOST_CLAUSES
    assert all(task in ". ".join(clauses) for task in tasks)


def test_endless_message_is_only_read_to_the_limit() -> None:
    clauses = split("send the weekly report to Ann. " * 100_000)

    assert sum(map(len, clauses)) < 3_000


@pytest.mark.parametrize(
    "message",
    [
        "and on Sunday?",
        "what about Crete",
        "send it to Paula too",
        "the second one please",
        "make that an hour later",
        "und für Anna",
        "go ahead",
        "Mia as well",
    ],
)
def test_message_that_goes_on_is_read_after_the_last_one(message: str) -> None:
    context = in_context(message, ["what time is it", "is it warm in Rome"])

    assert context == f"is it warm in Rome {message}"


@pytest.mark.parametrize(
    "message",
    [
        "send an email to Karl about the invoice",
        "how much is 14 times 23",
        "remind me at six",
        "play jazz",
    ],
)
def test_message_that_stands_by_itself_is_read_alone(message: str) -> None:
    assert in_context(message, ["is it warm in Rome"]) == ""


@given(
    st.sampled_from(["\u3041-\u3096", "\u4e00-\u9fa5", "\u0e01-\u0e2e"]).flatmap(
        lambda letters: st.from_regex(rf"[{letters}]{{8,60}}", fullmatch=True)
    )
)
def test_scripts_without_blanks_have_words_too(message: str) -> None:
    assume(not any(word in message for word in ("它", "那", "それ", "その", "では", "还有")))

    assert in_context(message, ["is it warm in Rome"]) == ""
    assert in_context(message[:3], ["is it warm in Rome"]) != ""


@pytest.mark.parametrize(
    "message",
    ["那明天呢", "它什么时候到", "その予定を五時にしてほしい", "а завтра", "отправь его Ане"],  # noqa: RUF001
)
def test_pointers_of_other_scripts_point_back(message: str) -> None:
    assert in_context(message, ["is it warm in Rome"]).endswith(message)


_WEATHER = ("raining", "going to snow", "very hot", "too cold", "windy", "sunny", "3 pm", "10:30")
_EMPTY_IT = [
    *(
        f"{opening} {weather} in {place}"
        for opening in ("is it", "if it's", "because it is")
        for weather in _WEATHER
        for place in ("Berlin this week", "the north of Spain")
    ),
    *(
        f"can you tell me {question} is it in {place}"
        for question in ("what time", "what day", "how late")
        for place in ("Tokyo", "New York")
    ),
]


@pytest.mark.parametrize("message", _EMPTY_IT)
def test_it_that_stands_for_nothing_does_not_point_back(message: str) -> None:
    assert in_context(message, ["Delete the appointment with Kim"]) == ""


@pytest.mark.parametrize(
    "message", ["is it sent to everybody in the list", "can you mail it to Ana"]
)
def test_it_that_stands_for_something_points_back(message: str) -> None:
    assert in_context(message, ["Write a letter to the landlord"]).endswith(message)


def test_without_history_nothing_is_leant_on() -> None:
    assert in_context("and on Sunday?", []) == in_context("and on Sunday?", [" "]) == ""


def test_only_the_start_of_a_long_turn_counts() -> None:
    assert len(in_context("and that?", ["word " * 1000])) < 600


def test_context_comes_first_and_the_own_words_after_it() -> None:
    reading = read("and on Sunday?", ("is it warm in Rome",))

    assert reading.texts == ("is it warm in Rome and on Sunday?", "and on Sunday?")
    assert reading.own == 1


def test_message_without_context_is_read_as_it_is() -> None:
    reading = read("book a table and tell Anna about it")

    assert reading.texts[0] == "book a table and tell Anna about it"
    assert reading.own == 0


LETTERS = st.text(st.characters(exclude_categories=["Cs"]), min_size=100, max_size=5_000)
REQUEST = "translate the attached contract and send the file to Paula"


@given(LETTERS, st.integers(min_value=100, max_value=4_000))
def test_message_is_read_whole_up_to_the_limit_and_in_short_beyond(text: str, most: int) -> None:
    read = shorten(text, most)
    text = text.replace("\x00", " ")  # which Postgres does not take

    if len(text) <= most:
        assert read == text
    else:
        assert len(read) <= min(most, READ_OF_LONG)
        # Both ends are there, but for words that the cuts have broken.
        assert text.startswith(read.partition("\n…\n")[0])
        assert text.endswith(read.rpartition("\n…\n")[2])


@pytest.mark.parametrize("seed", range(20))
def test_request_is_read_wherever_it_stands(seed: int) -> None:
    dice = random.Random(seed)
    noise = [f"{dice.randrange(16**8):08x} {dice.randrange(16**8):08x}." for _ in range(3_000)]
    place = dice.choice([0, dice.randrange(1, len(noise)), len(noise)])

    read = shorten(" ".join([*noise[:place], REQUEST, *noise[place:]]), 8_000)

    words = set(read.split())
    assert len(words & set(REQUEST.split())) >= 5, place


@pytest.mark.parametrize("text", ["x" * 1_000_000, "天" * 100_000, " " * 100_000, "a b " * 250_000])
def test_text_of_any_kind_and_length_is_read(text: str) -> None:
    assert len(shorten(text, 8_000)) <= READ_OF_LONG


@pytest.mark.parametrize(
    "message",
    [
        "can you look into it?",
        "the thing we did last week",
        "same as last time please",
        "Kannst du dir das mal ansehen?",
        "tu peux regarder ça ?",
        "¿puedes mirarlo?",
        "você pode ver isso?",
        "puoi guardare questo?",
        "kun je daar even naar kijken?",
        "możesz się tym zająć?",
    ],
)
def test_pointer_without_a_name_is_vague(message: str) -> None:
    assert is_vague(message)


@pytest.mark.parametrize(
    "message",
    ["", "it", "what can you do for me?", "send it to Anna", "look into invoice 12", "is it 4?",
     "the thing with the boiler we did last week", "what's on my calendar", "Ist es kalt?"],
)  # fmt: skip
def test_message_that_names_something_is_not(message: str) -> None:
    assert not is_vague(message)


def test_vague_message_goes_on_with_the_conversation() -> None:
    earlier = ["what did the plumber write about the boiler?"]

    assert in_context("the thing we did last week", earlier).startswith(earlier[0])


Embed = Callable[..., EmbeddedTexts]


@pytest.fixture
def embed(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> Embed:
    """Embed without the query cache, and classify by the same model."""
    monkeypatch.setattr(example_texts, "answering_embedder", lambda: embedder)
    monkeypatch.setattr(example_texts, "attempt", lambda call, default: default)
    return lambda *texts: EmbeddedTexts(embedder.name, embedder.embed(texts))


@pytest.mark.parametrize(
    "message", ["hello", "Thanks!", "ok great", "", "👍", "Guten Morgen!", "merci beaucoup"]
)
def test_polite_words_are_small_talk_even_without_a_model(message: str) -> None:
    assert is_small_talk(message, None, 0.0)


@pytest.mark.parametrize(
    "message", ["send", "weather", "help", "how much is it", "help with my invoice", "Wetter?"]
)
def test_word_with_a_subject_is_no_small_talk(message: str) -> None:
    assert not is_small_talk(message, None, 0.0)


@pytest.mark.parametrize(
    "message", ["I feel great today", "you made me laugh", "what a beautiful evening it was"]
)
def test_chat_is_small_talk(message: str, embed: Embed) -> None:
    assert is_small_talk(message, embed(message), 0.3)


@pytest.mark.parametrize(
    "message",
    ["I'm so sorry I shouted at you", "I am ashamed of what I said", "Es tut mir leid",
     "je me sens seul", "lo siento mucho", "sono triste", "sinto-me sozinho", "ik voel me rot",
     "jest mi smutno"],
)  # fmt: skip
def test_apologies_and_feelings_are_small_talk(message: str, embed: Embed) -> None:
    assert is_small_talk(message, embed(*add_english((message,))), 0.5)


def test_chat_beyond_doubt_may_share_words_with_a_tool(embed: Embed) -> None:
    assert is_small_talk("Do you like music?", embed("Do you like music?"), 0.85)
    assert not is_small_talk("I feel great today", embed("I feel great today"), 0.99)


@pytest.mark.parametrize(
    "message", ["please book me a hotel room in Vienna", "the plumber has been paid", "rain today?"]
)
def test_request_is_no_small_talk(message: str, embed: Embed) -> None:
    assert not is_small_talk(message, embed(message), 0.3)


def test_one_request_among_the_clauses_is_enough(embed: Embed) -> None:
    message = "that was lovely. send Tom the photos"

    assert not is_small_talk(message, embed(message, "that was lovely", "send Tom the photos"), 0.3)


def test_message_that_a_capability_clearly_fits_is_no_small_talk() -> None:
    assert not is_small_talk("good morning", None, 0.95)


def test_more_is_asked_of_what_goes_on_with_a_request(embed: Embed) -> None:
    assert not is_small_talk("no, better four", embed("no, better four"), 0.9, goes_on=True)
    assert is_small_talk("I like it", embed("I like it"), 0.9, goes_on=True)


def test_long_story_is_never_small_talk(embed: Embed) -> None:
    message = "I am so happy today because " + "the sun shines and " * 9 + "all is well"

    assert not is_small_talk(message, embed(message), 0.0)


def test_model_that_no_longer_answers_is_not_compared_with(embed: Embed) -> None:
    other = EmbeddedTexts("another-model", embed("you made me laugh").vectors)

    assert chance_of_small_talk("you made me laugh", other) == 0.0


def test_examples_are_no_messages_of_the_labelled_set() -> None:
    lines = (FOLDER / "labelled" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    labelled = {_bare(json.loads(line)["query"]) for line in lines}
    small, requests = _examples("small_talk_examples.txt"), _examples("request_examples.txt")

    assert min(len(small), len(requests)) > 350
    assert not set(small) & set(requests)
    assert not labelled & {_bare(example) for example in small + requests}


def _examples(name: str) -> list[str]:
    return (files("discovery.select") / name).read_text(encoding="utf-8").splitlines()


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("read", [read_small_talk, read_abilities])
def test_shipped_vectors_are_those_of_the_texts(
    read: Callable[[], list[str]], embedder: OnnxEmbedder
) -> None:
    texts = read()
    shipped = read_vectors(embedder.name, digest_of(texts))

    assert shipped is not None, "write them: lab.training.embed_examples"
    english = [place for place, text in enumerate(texts) if not is_foreign(text)][::25]
    again = embed_examples([texts[place] for place in english], embedder)
    assert np.einsum("ij,ij->i", shipped[english], again).min() > 0.99


def test_vectors_of_another_model_or_other_texts_are_not_read(tmp_path: Path) -> None:
    file, vectors = tmp_path / "vectors", np.eye(2, 384, dtype=np.float32)
    write_vectors("this", {digest_of(["a", "b"]): vectors}, file)
    (tmp_path / "damaged").write_bytes(file.read_bytes()[:40])

    read = read_vectors("this", digest_of(["a", "b"]), file)

    assert read is not None
    assert np.array_equal(read, vectors)
    assert read_vectors("other", digest_of(["a", "b"]), file) is None
    assert read_vectors("this", digest_of(["a", "c"]), file) is None
    assert read_vectors("this", digest_of(["a", "b"]), tmp_path / "damaged") is None
    assert read_vectors("this", digest_of(["a", "b"]), tmp_path / "none") is None


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("emial", "email"),
        ("wether", "weather"),
        ("remnd", "remind"),
        ("calender", "calendar"),
        ("mesage", "message"),
        ("meetting", "meeting"),
    ],
)
def test_slip_is_mended(slip: str, meant: str) -> None:
    assert correct(f"my {slip}, please") == f"my {meant}, please"


@pytest.mark.parametrize(
    "text",
    [
        "whether the concert is on",
        "a spare part of the statue",
        "reminders and cameras",
        "Emial wrote",
        "open emial.txt in emial/2024",
        "call get_emial on my_srver",
        "",
    ],
)
def test_word_that_means_what_it_says_is_left_alone(text: str) -> None:
    assert correct(text) == text


@pytest.mark.parametrize("message", MESSAGES)
def test_message_without_slips_is_read_as_it_is(message: str) -> None:
    assert read(message).texts[:1] == add_english((message,))


def test_other_languages_are_not_taken_for_slips() -> None:
    assert (
        read("Ouvre le contrat de la maison").texts[0].startswith("Ouvre le contrat de la maison")
    )
