"""Words as sparse vectors."""

import math

import bm25s
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from catalog import lexical
from tests.ranking.conftest import Tool


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
