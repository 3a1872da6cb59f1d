"""Judgements of a message: small talk, which gets no tools, and the effects that it asks for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from catalog.embedding.embedder import Vectors, cosines_of
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.example_texts import PerModel, read_examples

# Judgement of a message: does it ask to delete or cancel something, does it only ask to read, in
# any language.
#
# Two logistic regressions on the message's vector, fitted by `lab.training.effects_asked`; the file
# has numbers only. Independent of the catalogue.

WEIGHTS_FILE = Path(__file__).parent / "effects_asked.safetensors"
# Log-odds, lower than even: a deletion that comes later is a smaller harm than one that comes first
# for who deletes nothing, since no deletion runs without a question.
LIMIT = -0.5
# What a deletion loses for each step below the limit, and at most: more than lies between the tools
# that create, read, change and delete one thing.
COST_OF_STEP, MOST_COST = 0.2, 0.4
# The same of a tool that writes, for each step above the limit of who only wants to read: about
# what lies between these tools, since "who wrote to me" and "write to me" are easily confused.
READS, COST_OF_WRITING, MOST_OF_WRITING = 0.5, 0.05, 0.15


def costs_of_effects(embedded: EmbeddedTexts | None) -> Mapping[str, float]:
    """Return what tools lose in strength by their side effect; nothing if unknown.

    One that deletes loses more, the surer neither the message nor a clause deletes anything, and
    one that writes, the surer all of them only read.
    """
    model, deletes, reads = _read_weights()
    if embedded is None or embedded.model != model:
        return {}
    deleting = float((embedded.vectors @ deletes[:-1] + deletes[-1]).max())
    reading = float((embedded.vectors @ reads[:-1] + reads[-1]).min())
    write = min(MOST_OF_WRITING, max(0.0, COST_OF_WRITING * (reading - READS)))
    delete = min(MOST_COST, max(0.0, COST_OF_STEP * (LIMIT - deleting)))
    return {"write": write, "delete": max(delete, write)}


@lru_cache(maxsize=1)
def _read_weights() -> tuple[str, Vectors, Vectors]:
    with safe_open(WEIGHTS_FILE, "numpy") as file:
        model = (file.metadata() or {})["model"]
        return model, file.get_tensor("deletes"), file.get_tensor("reads")


# Detection of small talk, which gets no tools. Independent of the catalogue.
#
# A few greetings and thanks are known by their words. All else is compared with examples of small
# talk and of requests. Each example votes by its similarity to the message and a weight; the
# weights are fitted so that the examples recognize each other (kernel ridge regression).

Doubles = npt.NDArray[np.float64]

# Decay of a vote with distance, and regularization. Nearby values do as well; chosen by 10-fold
# cross-validation on the examples.
SHARPNESS, SOFTNESS = 3.0, 0.2
# Small talk from this probability on: a superfluous tool costs less than a missing one. Follow-ups
# of a request ("no, better four") need a higher one.
LIKELY, LIKELY_AFTER_REQUEST = 0.55, 0.7
CLEARLY_FITS = 0.6
# "Do you like music?" shares its words with a music tool, but is chat beyond doubt.
BEYOND_DOUBT, FITS_BEYOND_DOUBT = 0.9, 0.98
MOST_WORDS = 40  # longer messages are requests

_WORD = re.compile(r"[^\W_]+")
_POLITE = """
hi hello hey hiya howdy yo greetings welcome good morning afternoon evening night day bye
goodbye later soon thanks thank thx ty cheers ok okay okey k yes yeah yep yup no nope nah sure
great nice cool fine perfect awesome amazing wow lovely excellent super well done wonderful lol
haha hahaha hehe sorry you so very much a lot again there all everyone too
hallo guten gute guter tag morgen abend nacht danke schön sehr bitte tschüss servus moin grüß
dir ja nein klar toll vielen dank bonjour salut bonsoir merci beaucoup ça va oui non d accord
au revoir hola buenos días buenas tardes noches gracias muchas sí vale adiós olá oi bom dia boa
tarde noite obrigado obrigada sim não tchau ciao buongiorno buonasera grazie mille va bene hoi
dag goedemorgen goedenavond je wel bedankt prima 你好 谢谢 您好 再见 好的 こんにちは ありがとう
안녕하세요 감사합니다 привет спасибо здравствуйте merhaba teşekkürler cześć dzięki hej tack
"""
_POLITE_WORDS = frozenset(_POLITE.split())


def is_small_talk(
    message: str, embedded: EmbeddedTexts | None, best_score: float, *, goes_on: bool = False
) -> bool:
    """Return True if the message asks for nothing and no capability clearly matches it.

    `embedded` has the message and its clauses; without it the words decide. A message that
    `goes_on` is a follow-up: its score includes an earlier message, so the score is ignored.
    """
    # A clause can only lower the chance, and mostly the message as a whole is too low already.
    whole = embedded and replace(embedded, vectors=embedded.vectors[:1])
    if chance_of_small_talk(message, whole) < LIKELY:
        return False
    chance = chance_of_small_talk(message, embedded)
    if goes_on:
        return chance >= LIKELY_AFTER_REQUEST
    is_certain = chance >= BEYOND_DOUBT and not is_polite(message)
    too_good = FITS_BEYOND_DOUBT if is_certain else CLEARLY_FITS
    return chance >= LIKELY and best_score < too_good


def chance_of_small_talk(message: str, embedded: EmbeddedTexts | None) -> float:
    """Return the probability of small talk; 0 if unknown, or if any clause is a request."""
    if is_polite(message):
        return 1.0
    if embedded is None or len(_WORD.findall(message)) > MOST_WORDS:
        return 0.0
    classifier = _classifiers.get(embedded.model)
    return classifier.chance(embedded.vectors) if classifier else 0.0


def is_polite(message: str) -> bool:
    """Return True if the message is nothing but greetings and thanks."""
    return all(word in _POLITE_WORDS for word in _WORD.findall(message.lower()))


def warm_small_talk() -> None:
    """Embed the examples before the first request needs them."""
    _classifiers.warm()


@dataclass(frozen=True, slots=True)
class _Classifier:
    """A classifier for one model: the examples' vectors and weights."""

    examples: Vectors
    weights: Doubles

    @classmethod
    def by(cls, vectors: Vectors, kinds: Doubles) -> "_Classifier":
        exact = vectors.astype(np.float64)  # float32 is too coarse for the solver
        likeness = _likeness(exact @ exact.T) + SOFTNESS * np.eye(len(exact))
        return cls(vectors, np.asarray(np.linalg.solve(likeness, kinds), dtype=np.float64))

    def chance(self, vectors: Vectors) -> float:
        votes = _likeness(cosines_of(self.examples, vectors)) @ self.weights
        return float(np.clip((1 + votes.min()) / 2, 0, 1))


def _likeness(cosines: Vectors | Doubles) -> Doubles:
    return np.asarray(np.exp(SHARPNESS * (cosines.astype(np.float64) - 1)), dtype=np.float64)


def _classifier(vectors: Sequence[Vectors]) -> _Classifier:
    kinds = np.repeat([1.0, -1.0], [len(vector) for vector in vectors])
    return _Classifier.by(np.concatenate(vectors), kinds)


_classifiers = PerModel(
    [partial(read_examples, f"{name}_examples.txt") for name in ("small_talk", "request")],
    _classifier,
)


def read_small_talk() -> list[str]:
    """Return the examples of small talk and of requests, in the order of their vectors."""
    return _classifiers.texts
