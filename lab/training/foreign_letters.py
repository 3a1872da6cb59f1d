"""Fits the letters that tell other languages from English, and writes their weights.

    python -m lab.training.foreign_letters ../shared/train

A logistic regression on the shares of runs of one to three letters, hashed to 4,096 weights, over
the requests of labelled sets: those with another language against the others, both sides weighing
the same. Prints what it finds in each set's requests when that set is left out. Takes some minutes.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from catalog.words import foreign_letters
from catalog.words.foreign_letters import BITS, FEWEST_WORDS, WEIGHTS_FILE, runs_of
from discovery.evaluation import read_queries
from discovery.select._glossary import plain_words
from lab.training._pairs import REQUESTS

# Penalty on the weights, for shares in per cent; a hundred times as much finds 1.5 % less.
SOFTNESS, SHARES = 1e-5, 30.0
# Log-odds that make a text foreign: at 0 four times as many short English commands are taken.
LIMIT = 1.0
Requests = list[tuple[list[str], bool, str]]


def read_requests(folder: Path) -> Iterator[tuple[list[str], bool, str]]:
    """Yield the words of each request, whether it is foreign, and its set."""
    for path in sorted(folder.glob("*/queries.jsonl")):
        for labelled in read_queries(path.parent):
            words = plain_words(labelled.query)
            if len(words) >= FEWEST_WORDS:
                yield words, labelled.language not in {"", "en"}, path.parent.name


def fit_letters(requests: Sequence[tuple[list[str], bool, str]]) -> tuple[Any, float]:
    """Return the weights and the limit of `score_letters`."""
    from scipy import sparse
    from scipy.optimize import minimize

    runs = [runs_of(words) for words, _, _ in requests]
    rows = np.repeat(np.arange(len(runs)), list(map(len, runs)))
    shares = np.concatenate([np.full(len(run), SHARES / len(run)) for run in runs])
    size = (len(runs), 2**BITS)
    matrix = sparse.csr_matrix((shares, (rows, np.concatenate(runs))), size)
    foreign = np.array([is_foreign for _, is_foreign, _ in requests], float)
    weight = np.where(foreign, 0.5 / foreign.sum(), 0.5 / (1 - foreign).sum())

    def loss(values: Any) -> tuple[float, Any]:
        chance = 1 / (1 + np.exp(-(matrix @ values[:-1] + values[-1])))
        right = np.where(foreign, chance, 1 - chance)
        slope = weight * (chance - foreign)
        penalty = SOFTNESS / 2 * float(values[:-1] @ values[:-1])
        gradient = np.append(matrix.T @ slope + SOFTNESS * values[:-1], slope.sum())
        return penalty - float(weight @ np.log(right + 1e-12)), gradient

    zeros = np.zeros(2**BITS + 1)
    fitted = minimize(loss, zeros, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return (SHARES * fitted[:-1]).astype(np.float32), LIMIT - float(fitted[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds labelled sets with languages")
    settings.configure()
    requests = [*read_requests(parser.parse_args().folder), *read_requests(REQUESTS)]
    for name in sorted({name for _, _, name in requests}):
        weights, limit = fit_letters([each for each in requests if each[2] != name])
        for kind in (True, False):
            part = [words for words, is_foreign, of in requests if (is_foreign, of) == (kind, name)]
            taken = [float(weights[runs_of(words)].mean()) > limit for words in part]
            if part:
                share = f"{100 * np.mean(taken):.1f} % of {len(part)}"
                print(f"{name}, {'foreign' if kind else 'English'}: {share} taken for foreign")
    weights, limit = fit_letters(requests)
    target = Path(foreign_letters.__file__).parent / WEIGHTS_FILE
    np.savez(target, weights=weights, limit=np.float32(limit))
    print(f"{target}: {len(requests)} requests")


if __name__ == "__main__":
    main()
