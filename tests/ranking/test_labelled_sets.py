"""The trained model: its pairs, calibration, adapter and provenance."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import override_settings

from catalog.embedding import configured_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    DOWN,
    MODEL_FILE,
    PLAIN,
    UP,
    adapter_name,
    apply_adapter,
    convert_model,
    model_name,
    read_adapter,
    write_adapter,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import (
    ADAPTER_FILE,
    is_prepared,
    model_folder,
    prepare_model,
    prepared_folder,
    read_provenance,
)
from catalog.formats.loader import load_path
from discovery.evaluation import BadSet, read_ids, read_queries
from discovery.select.ranking.fusion import GENERAL, TRAINED, scale_of, shipped_scale
from lab.training._calibration import fit_scale, reliability
from lab.training._evidence import Array, LabelledQuestion
from lab.training._pairs import LONGEST_JOINED, REQUESTS, has_messages, labelled_pairs
from lab.training.recipe import CachingEmbedder
from tests.ranking.tool_texts import MESSAGES as SHIPPED_TEXTS

TOOLS = (
    ("send_mail", "Sends a mail to someone. Attachments are taken along. Costs nothing at all."),
    ("post_message", "Posts a message to a channel. Everyone who is in it can read it."),
    ("get_weather", "Tells what the weather is like. Any city in the world will do."),
    ("book_flight", "Books a seat on a flight. Payment is by the card that is on file."),
    ("convert_money", "Converts an amount of money. The rates are those of this morning."),
    ("play_song", "Plays a song on the speaker. Says so where there is no such song."),
    ("find_recipe", "Finds a recipe for what is in the fridge. Leaves out what you do not eat."),
    ("set_alarm", "Sets an alarm for a time of day. It rings until someone stops it."),
)
MESSAGES = (
    ("tell Ann by mail that I am late", ["send_mail"]),
    ("will it rain in Lisbon tomorrow?", ["get_weather"]),
    (
        "Post the lunch menu to the team channel. Set an alarm for seven in the morning.",
        ["post_message", "set_alarm"],
    ),
)


def write_set(folder: Path, *, messages: bool = True) -> Path:
    """Write a catalogue of a few tools, with or without messages."""
    folder.mkdir()
    _write(folder / "catalog.jsonl", [_tool(name, words) for name, words in TOOLS])
    if messages:
        rows = [
            {"qid": str(place), "query": query, "relevant": right}
            for place, (query, right) in enumerate(MESSAGES)
        ]
        _write(folder / "queries.jsonl", rows)
    return folder


def _tool(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    return {"id": name, "name": name, "server": "home", "description": description} | {
        "input_schema": schema
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> CachingEmbedder:
    return CachingEmbedder(OnnxEmbedder(convert_model(tmp_path_factory.mktemp("model"))))


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the joining of messages."""
    monkeypatch.setattr("lab.training._pairs.JOINED", 0.0)


def _tool_of(reading: str) -> str:
    found = [name for name, _ in TOOLS if name.replace("_", " ") in reading.lower()]
    assert len(found) == 1
    return found[0]


@pytest.mark.usefixtures("_alone")
def test_each_right_answer_is_a_pair_with_a_wrong_one_beside_it(
    base: CachingEmbedder, tmp_path: Path
) -> None:
    folder = write_set(tmp_path / "home")

    pairs = labelled_pairs(folder, base, seed=1, most=100)

    wanted = sorted(one for _, right in MESSAGES for one in right)
    assert sorted(_tool_of(pair.right) for pair in pairs) == wanted
    several = set(MESSAGES[2][1])
    for pair in pairs:
        assert _tool_of(pair.wrong) != _tool_of(pair.right)
        if _tool_of(pair.right) in several:
            assert _tool_of(pair.wrong) not in several
    assert labelled_pairs(folder, base, seed=1, most=100) == pairs
    assert labelled_pairs(folder, base, seed=1, most=2) == pairs[:2]


@pytest.mark.usefixtures("_alone")
def test_message_of_several_tasks_is_sometimes_only_the_tools_own(
    base: CachingEmbedder, tmp_path: Path
) -> None:
    folder = write_set(tmp_path / "home")

    messages = {
        pair.message
        for seed in range(8)
        for pair in labelled_pairs(folder, base, seed=seed, most=100)
        if _tool_of(pair.right) == "set_alarm"
    }

    whole = MESSAGES[2][0]
    assert whole in messages
    (task,) = messages - {whole}
    assert "alarm" in task
    assert "lunch" not in task


def test_some_messages_get_another_one_before_or_behind(
    base: CachingEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_set(tmp_path / "home")
    rain, mail = MESSAGES[1][0], f"{MESSAGES[0][0]}."

    def said(joined: float) -> set[str]:
        monkeypatch.setattr("lab.training._pairs.JOINED", joined)
        pairs = (labelled_pairs(folder, base, seed=seed, most=100) for seed in range(20))
        return {one.message for some in pairs for one in some if "weather" in one.right.lower()}

    assert said(0.0) == {rain}
    assert {f"{rain} {mail}", f"{mail} {rain}"} <= said(1.0)
    assert all(len(one.split()) <= LONGEST_JOINED for one in said(1.0))


def test_catalogue_without_messages_takes_those_that_were_written_for_it(
    base: CachingEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.training._pairs.REQUESTS", tmp_path / "requests")
    (tmp_path / "requests").mkdir()
    folder = write_set(tmp_path / "home", messages=False)
    with pytest.raises(BadSet, match="does not exist"):
        labelled_pairs(folder, base, seed=1, most=100)

    write_set(tmp_path / "requests" / "home")

    assert len(labelled_pairs(folder, base, seed=1, most=100)) == 4
    assert not has_messages(folder)


@pytest.mark.parametrize("folder", sorted(REQUESTS.iterdir()), ids=lambda folder: folder.name)
def test_messages_of_our_own_are_well_formed(folder: Path) -> None:
    rows = read_queries(folder)

    assert len({row.qid for row in rows}) == len({row.query.lower() for row in rows}) == len(rows)
    assert all(len(row.relevant) == 1 and 2 <= len(row.query.split()) < 120 for row in rows)


def test_ids_are_compared_as_the_loader_stores_them(tmp_path: Path) -> None:
    line = {"id": "get  weather", "name": "get_weather", "server": "sky", "description": "Weather."}
    (tmp_path / "catalog.jsonl").write_text(json.dumps(line), "utf-8")
    asked = {"qid": "1", "query": "will it rain?", "relevant": ["get  weather"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(asked), "utf-8")

    (stored,) = load_path(tmp_path / "catalog.jsonl").capabilities

    (labelled,) = read_queries(tmp_path)
    assert labelled.relevant == (stored.identifier,) == ("get weather",)
    assert read_ids(tmp_path) == {"get weather": "get  weather"}


dice = np.random.default_rng(5)
MIDDLE, WIDTH, CANDIDATES = 0.5, 0.1, 12
FAINT = 0.001  # weight of words when they must not matter


def _asked(count: int) -> list[LabelledQuestion]:
    """Create messages whose nearest candidate is right by the logistic curve; words say nothing."""
    asked = []
    for _ in range(count):
        cosines = np.sort(dice.uniform(0.1, 0.9, size=CANDIDATES))[::-1]
        chance = 1 / (1 + np.exp(-(cosines[0] - MIDDLE) / WIDTH))
        words = dice.uniform(0, FAINT, size=CANDIDATES)
        asked.append(_question(cosines, words, 0 if dice.random() < chance else 11))
    return asked


def _question(cosines: Array, words: Array, right: int) -> LabelledQuestion:
    places = np.arange(CANDIDATES)
    return LabelledQuestion(cosines[:, None], words[:, None], (30.0,), places == right, 1, places)


def test_relevance_of_the_best_is_its_chance() -> None:
    unseen = {"one": _asked(3000), "other": _asked(3000)}

    scale = fit_scale(unseen)

    for same in ("word_weight", "word_power", "evenness", "whole"):
        assert getattr(scale, same) == getattr(TRAINED, same)
    assert scale.middle == pytest.approx(MIDDLE, abs=0.05)
    assert scale.width == pytest.approx(WIDTH, rel=0.25)
    for tenth in reliability({"new": _asked(3000)}, scale):
        if tenth["messages"] > 200:
            assert tenth["right"] == pytest.approx(tenth["said"], abs=0.07)


def test_general_scale_is_not_calibrated_there() -> None:
    """Shows that the test above can fail."""
    tenths = reliability({"new": _asked(3000)}, GENERAL)

    assert max(abs(tenth["right"] - tenth["said"]) for tenth in tenths) > 0.12


adapter_dice = np.random.default_rng(7)
MATRIX, VECTOR = "encoder.layer.0.dense.weight", "encoder.layer.0.dense.bias"
BASE = {
    "embeddings.word_embeddings.weight": adapter_dice.normal(size=(30, 8)),
    MATRIX: adapter_dice.normal(size=(12, 8)),
    VECTOR: adapter_dice.normal(size=12),
}
ADAPTER = {
    MATRIX + DOWN: np.ones((1, 8), np.float16),
    MATRIX + UP: np.full((12, 1), 0.5, np.float16),
    VECTOR + ".whole": np.full(12, 0.25, np.float16),
}


def test_matrix_changes_by_the_product_of_its_factors() -> None:
    after = apply_adapter(BASE, ADAPTER)

    np.testing.assert_allclose(after[MATRIX], BASE[MATRIX] + 0.5)


def test_vectors_are_kept_whole_and_the_rest_is_left_alone() -> None:
    after = apply_adapter(BASE, ADAPTER)

    table = "embeddings.word_embeddings.weight"
    np.testing.assert_allclose(after[VECTOR], BASE[VECTOR] + 0.25)
    assert np.array_equal(after[table], BASE[table])


def test_file_gives_back_what_was_stored_and_is_named_by_it(tmp_path: Path) -> None:
    name = write_adapter(tmp_path / "a.safetensors", ADAPTER)
    read, read_name = read_adapter(tmp_path / "a.safetensors")

    assert read_name == name
    assert {key: part.tolist() for key, part in read.items()} == {
        key: part.tolist() for key, part in ADAPTER.items()
    }


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\0\0\0\0\0\0\0nonsense"])
def test_damaged_file_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)

    with pytest.raises(EmbedderUnavailable, match=r"a\.safetensors cannot be read"):
        read_adapter(tmp_path / "a.safetensors")


def test_adapter_of_another_model_is_refused() -> None:
    other = {"other.weight" + DOWN: np.ones((1, 4)), "other.weight" + UP: np.ones((4, 1))}

    with pytest.raises(EmbedderUnavailable, match=r"other\.weight"):
        apply_adapter(BASE, other)


SMALL = 2 * 1024 * 1024


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models, as in an install that has switched."""
    root = tmp_path_factory.mktemp("models")
    prepare_model(root, trained=False)
    prepare_model(root)
    return root


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, root: Path) -> Iterator[None]:
    """The providers of a fresh process, with these models."""
    monkeypatch.setitem(
        configured_embedder._providers,
        "onnx",
        configured_embedder.LazyEmbedder(configured_embedder._onnx),
    )
    monkeypatch.setattr(configured_embedder, "_earlier", {})
    with override_settings(PEGBOARD_MODEL_DIR=root, PEGBOARD_TRAINED_ENCODER=True):
        yield


def test_adapter_is_small_and_the_one_that_is_written_of() -> None:
    content = ADAPTER_FILE.read_bytes()

    assert len(content) <= SMALL
    assert adapter_name(content) == read_provenance()["adapter"]
    assert {"base", "recipe", "sets", "made with", "scale", "left out", "reliability"} <= set(
        read_provenance()
    )
    assert all(each["source"] and each["sha256"] for each in read_provenance()["sets"])


def test_adapter_changes_the_layers_and_nothing_else() -> None:
    weights = read_adapter(ADAPTER_FILE).weights

    assert all(name.startswith("encoder.layer.") for name in weights)
    assert all(np.isfinite(values.astype(np.float32)).all() for values in weights.values())


def test_graph_of_both_is_the_same_size(root: Path) -> None:
    sizes = [
        (model_folder(root, trained=each) / MODEL_FILE).stat().st_size for each in (False, True)
    ]

    assert sizes[0] == sizes[1]


def test_name_tells_the_model_apart_and_has_its_scale(root: Path) -> None:
    plain, trained = (OnnxEmbedder(model_folder(root, trained=each)) for each in (False, True))

    assert plain.name == model_name(PLAIN.name)
    assert trained.name == model_name(read_provenance()["adapter"])
    assert scale_of(trained.name) == shipped_scale()
    assert scale_of(plain.name) == scale_of("") == GENERAL
    assert (plain.embed(SHIPPED_TEXTS) * trained.embed(SHIPPED_TEXTS)).sum(axis=1).max() < 0.999


def test_both_are_found_and_a_missing_one_is_made(root: Path, tmp_path: Path) -> None:
    for trained in (False, True):
        folder = model_folder(root, trained=trained)
        assert prepared_folder(root, OnnxEmbedder(folder).name) == folder
    assert prepared_folder(root, "another") is None
    assert is_prepared(root, trained=True)
    assert not is_prepared(tmp_path, trained=True)


@pytest.mark.usefixtures("shipped")
def test_setting_chooses_and_the_other_still_answers_for_its_vectors() -> None:
    trained, plain = model_name(read_provenance()["adapter"]), model_name()

    assert configured_embedder.configured_embedder_name() == trained
    assert configured_embedder.embedder_for(plain).name == plain
    with pytest.raises(EmbedderUnavailable, match="but the settings name"):
        configured_embedder.embedder_for("someone-elses-model")


@pytest.mark.usefixtures("shipped")
def test_switched_off_the_model_is_as_its_makers_left_it() -> None:
    with override_settings(PEGBOARD_TRAINED_ENCODER=False):
        assert configured_embedder.configured_embedder_name() == model_name()
        assert configured_embedder.embedder_for(
            model_name(read_provenance()["adapter"])
        ).name.endswith(read_provenance()["adapter"])
