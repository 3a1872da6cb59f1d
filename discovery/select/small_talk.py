"""Tells small talk from a request, so that it gets no tools. Nothing here knows the catalogue.

A few greetings and thanks are known by their words. Everything else is compared with examples of
both kinds: each votes for its kind, by its likeness to the message and a weight of its own. The
weights are those with which the examples recognise one another (kernel ridge regression).
"""

import hashlib
import re
import threading
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt
from django.conf import settings

from acl.platform.redis_circuit import attempt
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, Vectors
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.glossary import add_english

Doubles = npt.NDArray[np.float64]

# How fast a vote fades with the distance, and how little one example may say against the others.
# Every value near these does as well; found by leaving out a tenth of the examples in turn.
SHARPNESS, SOFTNESS = 3.0, 0.2
# From this chance on it is small talk: a tool too many costs less than one too few. More is asked
# of what goes on with a request ("no, better four").
LIKELY, LIKELY_AFTER_REQUEST = 0.55, 0.7
CLEARLY_FITS = 0.6
MOST_WORDS = 40  # who says more than this wants something

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
    """Whether the message asks for nothing, unless a capability answers to it all the same.

    `embedded` has the message and its clauses; without it, the message is judged by its words. One
    that `goes_on` is scored with what it leans on, so that its score says nothing about itself.
    """
    chance = chance_of_small_talk(message, embedded)
    if goes_on:
        return chance >= LIKELY_AFTER_REQUEST
    return chance >= LIKELY and best_score < CLEARLY_FITS


def chance_of_small_talk(message: str, embedded: EmbeddedTexts | None) -> float:
    """In 0-1, and 0 where too little is known. One request among the clauses is enough."""
    words = _WORD.findall(message.lower())
    if all(word in _POLITE_WORDS for word in words):
        return 1.0
    if embedded is None or len(words) > MOST_WORDS:
        return 0.0
    judge = _judges.get(embedded.model)
    return judge.chance(embedded.vectors) if judge else 0.0


def warm_small_talk() -> None:
    """Embed the examples before the first request needs them."""
    try:
        _judges.get(answering_embedder().name)
    except EmbedderUnavailable:
        return


@dataclass(frozen=True, slots=True)
class _Judge:
    """The examples' vectors and what each one's vote weighs."""

    examples: Vectors
    weights: Doubles

    @classmethod
    def by(cls, vectors: Vectors, kinds: Doubles) -> "_Judge":
        exact = vectors.astype(np.float64)  # the solution needs it
        likeness = _likeness(exact, exact) + SOFTNESS * np.eye(len(exact))
        return cls(vectors, np.asarray(np.linalg.solve(likeness, kinds), dtype=np.float64))

    def chance(self, vectors: Vectors) -> float:
        votes = _likeness(vectors, self.examples) @ self.weights
        return float(np.clip((1 + votes.min()) / 2, 0, 1))


def _likeness(some: Vectors | Doubles, others: Vectors | Doubles) -> Doubles:
    cosines = (some @ others.T).astype(np.float64)
    return np.asarray(np.exp(SHARPNESS * (cosines - 1)), dtype=np.float64)


class _Judges:
    """One for each model that has answered in this process, made once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, _Judge] = {}

    def get(self, model: str) -> _Judge | None:
        """None for a model that no longer answers: its messages are judged by words alone."""
        if model not in self._made:
            with self._lock:
                if model not in self._made and not self._make(model):
                    return None
        return self._made[model]

    def _make(self, model: str) -> bool:
        small_talk, requests = _lines("small_talk_examples.txt"), _lines("request_examples.txt")
        try:
            embedder = answering_embedder()
            if embedder.name != model:
                return False
            vectors = _embedded([*small_talk, *requests], embedder)
        except EmbedderUnavailable:
            return False
        kinds = np.repeat([1.0, -1.0], [len(small_talk), len(requests)])
        self._made[model] = _Judge.by(vectors, kinds)
        return True


_judges = _Judges()


def _lines(name: str) -> list[str]:
    """The examples of one kind, read as messages are."""
    lines = (files("discovery.select") / name).read_text(encoding="utf-8").splitlines()
    return [add_english((line,))[0] for line in lines]


def _embedded(texts: list[str], embedder: Embedder) -> Vectors:
    """A row for each text; Redis keeps them, since embedding them takes a second."""
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    key = f"pegboard:small-talk:{embedder.name}:{digest}"
    kept = attempt(lambda redis: redis.get(key), default=None)
    if isinstance(kept, bytes) and len(kept) == len(texts) * embedder.dimension * 4:
        return np.frombuffer(kept, dtype=np.float32).reshape(len(texts), embedder.dimension)
    vectors = embedder.embed(texts)
    seconds = settings.PEGBOARD_QUERY_CACHE_SECONDS
    if seconds:
        attempt(lambda redis: redis.set(key, vectors.tobytes(), ex=seconds), default=None)
    return vectors
