"""Fits what tells messages that no tool of an installation fits, and writes its weights.

    python -m lab.training.nothing_fits ../shared/train ../shared/eval

Installations are drawn from labelled sets, each filled up with the servers of the sets that have
no messages. Its own messages fit; those fit nothing whose tools are not there and have no near
kin, small talk, requests to write or explain something, and those whose makers say so. Two logistic
regressions: how much such a message needs a tool at all, on its vector, and whether something
fits, on that and what the candidates show. Prints both kinds of mistakes with a fifth of the sets
left out in turn. Takes some minutes.
"""

import argparse
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import django
import numpy as np
from safetensors.numpy import save_file

from lab.training.effects_asked import fit

if TYPE_CHECKING:
    from catalog.embedding.embedder import Embedder, Vectors
    from catalog.formats.descriptors import Descriptor
    from discovery.evaluation import Labelled
    from discovery.select.ranking.fit import FitEvidence

SEED, INSTALLATIONS, SIZES = 11, 4, (20, 50, 130, 130, 300, 900)
MOST = {"fits": 70, "apart": 50, "others": 20, "openers": 25, "small talk": 8}
KIN = 0.72  # cosine of tools one of which could do what the other does
FAR = 0.5  # cosine of a message and a tool that has nothing to do with it
# Sets whose messages fit nothing by their makers' word, and requests to an assistant itself.
NAMED_UNFIT, OPENERS, SMALL_TALK = ("bfcl-none", "skill-evals"), "lobe-assistants", "hwu64"
LEFT_OUT = {"apibench", "tldr"}  # models and shell commands: most of their labels are one of many
# What each kind of message weighs, whatever their number; the sets of a kind weigh the same.
WEIGHTS = {"fits": 1.0, "apart": 0.5, "others": 0.5, "small talk": 0.25, "openers": 0.6}
WEIGHTS |= {"named": 0.4, "written": 0.8}
FOLDS = 5


@dataclass
class Tools:
    """A labelled set with the vectors of its tools."""

    name: str
    tools: "Sequence[Descriptor]"
    messages: "list[Labelled]"
    vectors: "Vectors"
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {tool.identifier: place for place, tool in enumerate(self.tools)}

    def right(self, message: "Labelled") -> list[int]:
        return [self.places[key] for key in message.relevant if key in self.places]


class Example(NamedTuple):
    """A message with an installation: its set, its kind, and the evidence."""

    set: str
    kind: str
    fits: bool
    foreign: bool
    vector: "Vectors"
    evidence: "FitEvidence"


class Remembering:
    """An embedder that embeds each text once."""

    def __init__(self, embedder: "Embedder") -> None:
        self._embedder, self._vectors = embedder, dict[str, Any]()
        self.name, self.dimension = embedder.name, embedder.dimension

    def embed(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors |= zip(new, self._embedder.embed(new), strict=True) if new else ()
        rows = [self._vectors[text] for text in texts]
        return np.array(rows, np.float32).reshape(len(rows), self.dimension)


def read_sets(folders: Sequence[Path], embedder: "Embedder") -> dict[str, Tools]:
    """Read the labelled sets in the folders, and the starter collection's messages."""
    from catalog.embedding.multilingual_embedder import embed_documents
    from catalog.embedding.texts import embedding_text
    from catalog.formats.loader import load_path
    from discovery.evaluation import read_queries
    from marketplace.offers.kinds.starter import FOLDER

    paths = [path.parent for folder in folders for path in sorted(folder.glob("*/catalog.jsonl"))]
    paths = [path for path in paths if path.name not in LEFT_OUT]
    sets = {}
    for path in (*paths, FOLDER / "labelled"):
        tools = load_path(path / "catalog.jsonl").capabilities
        has_messages = (path / "queries.jsonl").exists()
        texts = [embedding_text(tool) for tool in tools]
        sets[path.name] = Tools(
            path.name,
            tools,
            read_queries(path) if has_messages else [],
            embed_documents(embedder, texts),
        )
    return sets


class Drawing:
    """Draws installations and their messages, always the same ones."""

    def __init__(self, sets: dict[str, Tools], examine: "Examine") -> None:
        self._sets, self._examine, self._dice = sets, examine, random.Random(SEED)
        self._fillers = [each for each in sets.values() if not each.messages]
        apart = {*NAMED_UNFIT, OPENERS, *(each.name for each in self._fillers)}
        self._homes = [each for each in sets.values() if each.name not in apart]

    def draw(self) -> Iterator[Example]:
        """Yield the messages of all installations."""
        for home in [*self._homes, self._sets["skill-evals"]]:
            for _ in range(INSTALLATIONS):
                yield from self._installation(home)
        for name in NAMED_UNFIT:
            yield from self._named(self._sets[name])

    def _installation(self, home: Tools) -> Iterator[Example]:
        size = self._dice.choice(SIZES)
        share = max(5, int(size * self._dice.choice((0.3, 0.6, 1.0))))
        own = set(self._dice.sample(range(len(home.tools)), min(share, len(home.tools))))
        parts = [(home, sorted(own)), *self._fill(size - len(own))]
        installed = np.concatenate([each.vectors[places] for each, places in parts])
        ask = self._examine(parts)
        labelled = [one for one in home.messages if one.relevant]
        inside = [one for one in labelled if own.issuperset(home.right(one)) and home.right(one)]
        yield from ask(home, self._some(inside, "fits"), "fits")
        yield from ask(home, self._some(self._without(home, labelled, installed), "apart"), "apart")
        for other in self._dice.sample(self._homes, 2):
            if other is not home:
                some = self._dice.sample(other.messages, min(60, len(other.messages)))
                strangers = self._without(other, some, installed)
                yield from ask(other, strangers[: MOST["others"]], "others")
        openers, talk = self._sets[OPENERS], self._sets[SMALL_TALK]
        yield from ask(openers, self._some(openers.messages, "openers"), "openers")
        small = [one for one in talk.messages if not one.relevant]
        yield from ask(talk, self._some(small, "small talk"), "small talk")

    def _fill(self, size: int) -> Iterator[tuple[Tools, list[int]]]:
        for filler in self._fillers:
            servers: dict[str, list[int]] = {}
            for place, tool in enumerate(filler.tools):
                servers.setdefault(str(tool.integration), []).append(place)
            places: list[int] = []
            for name in self._dice.sample(sorted(servers), len(servers)):
                if len(places) >= size:
                    break
                places += servers[name]
            if places:
                yield filler, sorted(places)

    def _some(self, messages: "Sequence[Labelled]", kind: str) -> "list[Labelled]":
        return self._dice.sample(list(messages), min(MOST[kind], len(messages)))

    def _without(
        self, home: Tools, messages: "Sequence[Labelled]", installed: "Vectors"
    ) -> "list[Labelled]":
        """Return the messages whose tools have no kin among the installed ones."""
        return [
            one
            for one in messages
            if (right := home.right(one)) and float((installed @ home.vectors[right].T).max()) < KIN
        ]

    def _named(self, home: Tools) -> Iterator[Example]:
        """Yield messages that fit nothing by their makers' word, among tools far from them."""
        for message in self._dice.sample(home.messages, min(500, len(home.messages))):
            unfit = {home.places[key] for key in message.not_relevant if key in home.places}
            if message.relevant or not unfit:
                continue
            near = home.vectors @ self._examine.embed(message)[0].T
            far = np.flatnonzero(near.max(axis=1) < FAR).tolist()
            others = self._dice.sample(far, min(self._dice.choice((5, 20, 60)), len(far)))
            yield from self._examine([(home, sorted(unfit.union(others)))])(
                home, [message], "named"
            )


class Examine:
    """Reads the evidence of messages in an installation, as the selector does."""

    def __init__(self, embedder: "Embedder", abilities: "Vectors") -> None:
        self._embedder, self._abilities = embedder, abilities
        self.need: Callable[[Any], float] = lambda vector: 0.0

    def embed(self, message: "Labelled") -> tuple[Any, Any]:
        from discovery.select.message import read
        from lab.training._evidence import embed_reading

        reading = read(message.query, message.history)
        return embed_reading(reading, self._embedder), reading

    def __call__(self, parts: Any) -> "Callable[[Tools, Sequence[Labelled], str], Any]":
        tools = [each.tools[place] for each, places in parts for place in places]
        vectors = np.concatenate([each.vectors[list(places)] for each, places in parts])

        def ask(home: Tools, messages: "Sequence[Labelled]", kind: str) -> Iterator[Example]:
            yield from self._examples((tools, vectors), home, messages, kind)

        return ask

    def _examples(self, installed: Any, home: Tools, messages: Any, kind: str) -> Iterator[Example]:
        from catalog import lexical
        from discovery.select.example_texts import nearest_of
        from discovery.select.ranking.fit import gather_evidence
        from discovery.select.ranking.fusion import judge, scale_of
        from lab.training._evidence import LabelledRequest, find_evidence

        scale = scale_of(self._embedder.name)
        requests = [LabelledRequest(one.query, one.relevant, one.history) for one in messages]
        questions = find_evidence(installed[0], requests, self._embedder, vectors=installed[1])
        for message, question in zip(messages, questions, strict=True):
            vectors, reading = self.embed(message)
            judged = judge(question.evidence, question.features, scale)
            strengths = np.array([item.strength for item in judged])
            known = bool(question.right[np.argsort(-strengths, kind="stable")[:10]].any())
            fits = kind in {"fits", "written"} and bool(message.relevant)
            if fits and not known:
                continue  # lost by the ranking, whatever is decided here
            near = nearest_of(self._abilities, vectors)
            likeness = (installed[1][question.places] @ near.vectors.T).max(axis=0).tolist()
            margin = float((question.cosines - near.nearness(likeness)).max())
            words = len(lexical.query_vector(reading.texts[0]))
            worded = question.words.max(axis=1).tolist()
            evidence = gather_evidence(judged, worded, margin, words=words, need=0.0)
            yield Example(home.name, kind, fits, bool(reading.foreign), vectors[0], evidence)


def written(sets: dict[str, Tools], examine: Examine) -> Iterator[Example]:
    """Yield the messages that were written to try this, with the whole set installed."""
    from discovery.evaluation import read_queries
    from tests.ranking.fit_evidence import MESSAGES

    for path in sorted(MESSAGES.glob("*.jsonl")):
        home = sets["labelled" if path.stem == "starter" else path.stem]
        with TemporaryDirectory() as folder:
            (Path(folder) / "queries.jsonl").write_bytes(path.read_bytes())
            messages = read_queries(Path(folder))
        fitted = [message for message in messages if message.part in {"dev", "test"}]
        yield from examine([(home, range(len(home.tools)))])(home, fitted, "written")


def weigh(examples: Sequence[Example]) -> Any:
    """Return each example's weight: by kind, and the same for each set of it."""
    weights = np.zeros(len(examples))
    kinds = np.array([example.kind for example in examples])
    sets = np.array([example.set for example in examples])
    for kind, share in WEIGHTS.items():
        of_kind = np.unique(sets[kinds == kind])
        for name in of_kind:
            rows = (kinds == kind) & (sets == name)
            weights[rows] = share / len(of_kind) / rows.sum()
    return weights


def fit_both(examples: Sequence[Example]) -> tuple[Any, Any]:
    """Return the weights of the message's vector, and of the evidence, each with a constant."""
    weights = weigh(examples)
    vectors = np.array([example.vector for example in examples], float)
    fits = np.array([example.fits for example in examples])
    kinds = np.array([example.kind for example in examples])
    asks = (kinds == "fits") | (kinds == "openers")
    message = fit(vectors[asks], fits[asks], weights[asks])
    rows = _with_need(examples, message)
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    scaled = fit((rows - middle) / spread, fits, weights)
    slopes = scaled[:-1] / spread
    return message, np.append(slopes, scaled[-1] - slopes @ middle)


def _with_need(examples: Sequence[Example], message: Any) -> Any:
    rows = np.array([example.evidence for example in examples], float)
    vectors = np.array([example.vector for example in examples], float)
    rows[:, -1] = vectors @ message[:-1] + message[-1]
    return rows


def measure(examples: Sequence[Example]) -> None:
    """Print the mistakes of both kinds where a fifth of the sets is left out."""
    from discovery.select.ranking.fit import LIMIT, LIMIT_FOREIGN
    from discovery.select.ranking.fusion import shipped_scale

    scale, odds = shipped_scale(), _odds_left_out(examples)
    behind = [one.evidence.margin < scale.limit(int(one.evidence.words)) for one in examples]
    low = odds < [LIMIT_FOREIGN if one.foreign else LIMIT for one in examples]
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(examples):
        name = f"{'foreign ' * one.foreign}{one.kind}, {'fits' if one.fits else 'fits nothing'}"
        groups.setdefault(name, []).append(place)
    for name, places in groups.items():
        before, after = np.mean(np.array(behind)[places]), np.mean((behind | low)[places])
        lowest = np.quantile(odds[places], (0.01, 0.02, 0.03, 0.05)).round(2)
        print(f"{name}: {len(places)} messages, told so {before:.1%}, now {after:.1%}; {lowest}")


def _odds_left_out(examples: Sequence[Example]) -> Any:
    """Return the log-odds of each example by weights that have not seen its set."""
    names = sorted({one.set for one in examples})
    shuffled = random.Random(0).sample(names, len(names))
    folds = {name: place % FOLDS for place, name in enumerate(shuffled)}
    dice, odds = random.Random(1), np.zeros(len(examples))
    for_all = {OPENERS, *NAMED_UNFIT}
    fold = [dice.randrange(FOLDS) if one.set in for_all else folds[one.set] for one in examples]
    for number in range(FOLDS):
        left_out = np.array(fold) == number
        seen = [one for one, out in zip(examples, left_out, strict=True) if not out]
        message, evidence = fit_both(seen)
        odds[left_out] = (_with_need(examples, message) @ evidence[:-1] + evidence[-1])[left_out]
    return odds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="hold labelled sets")
    folders = parser.parse_args().folders
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    from django.test.utils import override_settings

    from catalog.embedding.multilingual_model import prepare_multilingual
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.select.example_texts import embed_examples, read_abilities
    from discovery.select.ranking.fit import WEIGHTS_FILE

    with TemporaryDirectory(prefix="pegboard-fits-") as temporary:
        root = Path(temporary)
        shipped = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        with override_settings(PEGBOARD_MODEL_DIR=root):
            embedder = Remembering(shipped)
            sets = read_sets(folders, embedder)
            examine = Examine(embedder, embed_examples(read_abilities(), shipped))
            examples = [*Drawing(sets, examine).draw(), *written(sets, examine)]
    measure(examples)
    message, evidence = fit_both(examples)
    weights = {"message": message.astype(np.float32), "evidence": evidence.astype(np.float32)}
    save_file(weights, WEIGHTS_FILE, {"model": shipped.name})
    print(f"{WEIGHTS_FILE}: {len(examples)} messages, evidence {np.round(evidence, 2)}")


if __name__ == "__main__":
    main()
