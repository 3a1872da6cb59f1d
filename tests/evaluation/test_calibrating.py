"""Calibration recovers known probabilities."""

import numpy as np
import pytest

from discovery.select.ranking.scales import GENERAL, TRAINED
from lab.training._calibration import fit_scale, reliability
from lab.training._evidence import Array, LabelledQuestion

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
