"""The classifier on the labelled tools: `tests.effects.figures` prints the tables of the docs."""

from collections import Counter

import pytest

from tests.effects.figures import confusion, flag_hits, fresh_confusion
from tests.effects.labelled import SHARED, definitions, digest, labels
from tests.effects.sample import fresh_rows, samples

pytestmark = pytest.mark.skipif(
    not (SHARED / "eval").is_dir(), reason="needs the sample sources beside the repository"
)


def test_labels_are_of_these_definitions() -> None:
    found = definitions()

    differing = [
        one.identifier
        for one in labels()
        if digest(found[one.source, one.identifier]) != one.digest
    ]

    assert len(labels()) == 400
    assert differing == []


def test_every_disagreement_of_the_passes_is_settled() -> None:
    """Settled labels equal those on which both passes agree."""
    assert [one for one in labels() if one.first == one.second != one.settled] == []
    assert sum(one.first != one.second for one in labels()) == 18


@pytest.mark.parametrize(
    ("tuned", "not_read", "changing", "reads"),
    [(True, 0.99, 0.97, 0.9), (False, 0.99, 0.97, 0.9)],
)
def test_effects_are_called_right(
    *, tuned: bool, not_read: float, changing: float, reads: float
) -> None:
    counts = confusion(tuned=tuned)

    changes = {key: count for key, count in counts.items() if key[0] != "read"}
    called = sum(count for (_, called), count in changes.items() if called in ("write", "delete"))
    missed = sum(count for (_, called), count in changes.items() if called == "read")
    whole = sum(changes.values())
    assert 1 - missed / whole >= not_read
    assert called / whole >= changing
    assert _share(counts, "read", "read") >= reads
    assert _share(counts, "delete", "delete") >= 0.95


def test_labelled_afterwards_are_the_samples_and_these_definitions() -> None:
    rows, found = fresh_rows(), definitions()

    for number, chosen in samples().items():
        its = [row for row in rows if row["round"] == str(number)]
        assert [(row["source"], row["id"]) for row in its] == chosen
    assert [row for row in rows if digest(found[row["source"], row["id"]]) != row["digest"]] == []


def test_tools_labelled_afterwards_are_called_right() -> None:
    counts = fresh_confusion()

    assert sum(counts.values()) == 300
    assert counts["write", "read"] == counts["delete", "read"] == 0
    assert _share(counts, "write", "write") >= 0.93
    assert _share(counts, "read", "read") >= 0.9
    assert _share(fresh_confusion("1", "2", "3"), "write", "write") >= 0.97


def test_flags_are_called_right() -> None:
    """Flags have no target yet; the floor notices if a change loses them."""
    hits = flag_hits()

    assert _recall(hits, "reaches_outside") >= 0.85
    assert _recall(hits, "returns_foreign_text") >= 0.65
    assert _recall(hits, "reads_private_data") >= 0.7


def _share(counts: Counter[tuple[str, str]], effect: str, called: str) -> float:
    whole = sum(count for (true, _), count in counts.items() if true == effect)
    return counts[effect, called] / whole


def _recall(hits: Counter[tuple[str, bool, bool]], flag: str) -> float:
    found, missed = hits[flag, True, True], hits[flag, True, False]
    return found / (found + missed)
