"""What is learned from: messages with right and wrong tools, and descriptions without messages."""

from pathlib import Path

import pytest

from catalog.embedding.convert import convert_model
from catalog.embedding.onnx import OnnxEmbedder
from discovery.training.described import described_pairs
from discovery.training.pairs import labelled_pairs
from discovery.training.remembering import Remembering
from tests.training.sets import MESSAGES, TOOLS, write_set


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Remembering:
    return Remembering(OnnxEmbedder(convert_model(tmp_path_factory.mktemp("model"))))


def _tool_of(reading: str) -> str:
    found = [name for name, _ in TOOLS if name.replace("_", " ") in reading.lower()]
    assert len(found) == 1
    return found[0]


def test_each_right_answer_is_a_pair_with_a_wrong_one_beside_it(
    base: Remembering, tmp_path: Path
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


def test_message_of_several_tasks_is_sometimes_only_the_tools_own(
    base: Remembering, tmp_path: Path
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


def test_sentence_stands_for_a_message_and_is_not_in_the_tool(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "home", messages=False)

    pairs = described_pairs(folder, seed=1, most=100)

    assert len(pairs) == len(TOOLS)
    for pair in pairs:
        assert pair.message not in pair.right
        assert pair.message in dict(TOOLS)[_tool_of(pair.right)]
    assert described_pairs(folder, seed=1, most=3) == pairs[:3]
