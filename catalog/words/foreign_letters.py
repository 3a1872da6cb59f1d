"""Texts that are not English, told by their script and their letters. Independent of the catalogue.

The letters' weights are fitted by `lab.training.foreign_letters`; the file has numbers only.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

WEIGHTS_FILE = "foreign_letters.npz"
# Runs of one to three letters are hashed to so many weights.
LONGEST_RUN, BITS = 3, 12
# Fewer words say too little; more than so many characters say nothing more.
FEWEST_WORDS, MOST_CHARACTERS = 3, 300
# Share of letters from Greek, Cyrillic, Chinese and so on: English may quote some.
OTHER_SCRIPT, _AFTER_LATIN = 0.3, "\u0370"
# An ideograph says as much as a short word.
_IDEOGRAPHS, _LETTERS_OF_ONE = "\u2e80", 3
# Names of parameters, servers and tags beside a tool's text are English anywhere.
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_WORD = re.compile(r"[^\W\d_]+")
# A text that stays must be foreign beyond doubt: log-odds above the limit, and none of these words.
SURE = 1.0
_ENGLISH = frozenset(
    """the of and for with from by is are this that it its your you my which when where or an
    get set list create update delete search add remove find returns using use""".split()  # noqa: SIM905
)
_FACTOR, _MIXER = np.uint32(0x01000193), np.uint32(0x9E3779B1)

Runs = npt.NDArray[np.uint32]


def is_other_script(text: str) -> bool:
    """Return True if the text is written in letters that English has not."""
    if text.isascii():
        return False
    letters = [letter for letter in text if letter.isalpha()]
    others = sum(letter >= _AFTER_LATIN for letter in letters)
    return others >= OTHER_SCRIPT * max(1, len(letters))


def is_foreign_text(text: str) -> bool:
    """Return True if what describes a tool is surely not English: the text of one line."""
    plain = _ASIDE.sub(" ", text)
    others = [letter for letter in plain if letter >= _AFTER_LATIN and letter.isalpha()]
    if others:
        weight = sum(_LETTERS_OF_ONE if letter >= _IDEOGRAPHS else 1 for letter in others)
        english = sum(letter < _AFTER_LATIN and letter.isalpha() for letter in plain)
        if weight >= OTHER_SCRIPT * (weight + english):
            return True
    words = _WORD.findall(plain.lower())
    is_doubtful = len(words) < FEWEST_WORDS or not _ENGLISH.isdisjoint(words)
    return not is_doubtful and score_letters(words) > SURE


def has_foreign_letters(words: Sequence[str]) -> bool:
    """Return True if the runs of letters in these words, in lower case, are not English ones."""
    return len(words) >= FEWEST_WORDS and score_letters(words) > 0


def score_letters(words: Sequence[str]) -> float:
    """Return the log-odds of another language, less the limit."""
    weights, limit = _weights()
    return float(weights[runs_of(words)].mean()) - limit


def runs_of(words: Sequence[str]) -> Runs:
    """Return the place of each run of letters among the weights."""
    text = f" {' '.join(words)} "[:MOST_CHARACTERS]
    letters = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
    run, runs = np.zeros(len(letters), np.uint32), []
    for length in range(1, LONGEST_RUN + 1):
        run = run[: len(letters) - length + 1] * _FACTOR + letters[length - 1 :] + np.uint32(length)
        runs.append((run * _MIXER) >> np.uint32(32 - BITS))
    return np.concatenate(runs)


@lru_cache(maxsize=1)
def _weights() -> tuple[npt.NDArray[np.float32], float]:
    with (files("catalog.words") / WEIGHTS_FILE).open("rb") as file, np.load(file) as table:
        return table["weights"].astype(np.float32), float(table["limit"])
