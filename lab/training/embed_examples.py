"""Embeds the example texts by the shipped model, and writes their vectors.

    manage.py shell -c "from lab.training.embed_examples import main; main()"

Needed again after each new adapter and each change of an example; takes some seconds.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import prepare_model
from discovery.select.example_texts import (
    VECTORS_FILE,
    digest_of,
    embed_examples,
    read_abilities,
    write_vectors,
)
from discovery.select.judgements import read_small_talk


def main(target: Path = VECTORS_FILE) -> None:
    """Embed and write them."""
    with TemporaryDirectory(prefix="pegboard-examples-") as folder:
        shipped = OnnxEmbedder(prepare_model(Path(folder)))
    sets = (read_small_talk(), read_abilities())
    write_vectors(
        shipped.name, {digest_of(texts): embed_examples(texts, shipped) for texts in sets}, target
    )
    print(f"{target}: {sum(map(len, sets))} texts", file=sys.stderr)
