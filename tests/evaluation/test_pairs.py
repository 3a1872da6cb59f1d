"""Training pairs: messages with right and wrong tools."""

import json
from pathlib import Path

import pytest

from catalog.embedding.model_conversion import convert_model
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.formats.loader import load_path
from discovery.evaluation.labelled_sets import BadSet, read_ids, read_queries
from lab.training._pairs import LONGEST_JOINED, REQUESTS, has_messages, labelled_pairs
from lab.training.recipe import CachingEmbedder
from tests.evaluation.sets import MESSAGES, TOOLS, write_set


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
